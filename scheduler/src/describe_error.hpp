// The text of an exception, for the log, and a test for operation_aborted.
#pragma once

#include <exception>
#include <string_view>

#include <weft/scheduler/errors.hpp>

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

// True for SystemError(operation_aborted).
inline bool isAbort(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const SystemError& refused) {
        return refused.code() == operationAborted();
    } catch (...) {
        return false;
    }
}

}  // namespace weft::detail
