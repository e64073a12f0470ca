// The failure of a promise if the application has violated the contract of a codec.
#pragma once

#include <exception>
#include <stdexcept>

namespace weft::http::detail {

inline std::exception_ptr misuse(const char* what) {
    return std::make_exception_ptr(std::logic_error(what));
}

}  // namespace weft::http::detail
