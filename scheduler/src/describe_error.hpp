// The text of an exception, for log lines.
#pragma once

#include <exception>
#include <string>

namespace weft::detail {

inline std::string describe(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& exception) {
        return exception.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

}  // namespace weft::detail
