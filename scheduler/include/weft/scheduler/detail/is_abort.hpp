// isAbort(): whether an exception is only the end of a wait by a cancellation or a shutdown.
#pragma once

#include <exception>

#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// True for SystemError(operation_aborted). `error` is not null.
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
