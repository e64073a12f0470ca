// The text of an exception, for the log.
#pragma once

#include <exception>
#include <string_view>

namespace weft::detail {

// Valid as long as `error` holds the exception.
inline std::string_view describe(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& exception) {
        return exception.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

}  // namespace weft::detail
