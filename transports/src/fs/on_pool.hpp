// onPool: runs a function on the blocking pool, with the pool's refusals as error codes.
#pragma once

#include <weft/scheduler/blocking.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// Sets `error` to what `call()` returns, or to the pool's refusal (operation_aborted, EAGAIN); then `call` has not run.
// Throws what `call` throws, except SystemError, and BlockingOperationException.
template <class Call>
void onPool(Call call, ErrorCode& error) {
    try {
        error = blocking(call);
    } catch (const SystemError& refused) {
        error = refused.code();
    }
}

}  // namespace weft::detail
