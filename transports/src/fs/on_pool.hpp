// onPool: runs a function on the blocking pool, with the pool's refusals as error codes. throwFileError: their text.
#pragma once

#include <cerrno>
#include <string>

#include <weft/pipeline/detail/printable.hpp>
#include <weft/scheduler/blocking.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// Sets `error` to what `call(failed)` has set, or to the pool's refusal (operation_aborted, EAGAIN); then `call` has
// not run. Throws what `call` throws, except SystemError, and BlockingOperationException.
template <class Call>
void onPool(ErrorCode& error, Call call) {
    try {
        error = blocking([&] {
            ErrorCode failed;
            call(failed);
            return failed;
        });
    } catch (const SystemError& refused) {
        error = refused.code();
    }
}

// Throws SystemError, which names the call, the path and the reason. On a carrier, EAGAIN is the pool's: the kernel
// returns it only for files that were opened with O_NONBLOCK.
[[noreturn]] inline void throwFileError(const ErrorCode& error, const char* call, const std::string& path) {
    std::string text = std::string(call) + " '" + printable(path) + "'";
    if (error == fromErrno(EAGAIN) && Carrier::current() != nullptr) {
        text += ": the blocking pool is full or cannot start a thread; try again later, or raise "
                "CarrierOptions::blockingThreads";
    }
    throw SystemError(error, text);
}

}  // namespace weft::detail
