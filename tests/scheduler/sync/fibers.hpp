// Shared by the tests of weft::sync: carriers with fibers that wait, and how a test knows that they do.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/sanitized.hpp"

namespace weft::sync {

// The thread sanitizer has a limit for the number of threads and fibers.
#ifdef WEFT_SANITIZED_THREAD
constexpr unsigned manyFibers = 1'000;
#else
constexpr unsigned manyFibers = 10'000;
#endif

inline CarrierOptions carriers(std::size_t count) {
    CarrierOptions options;
    options.carriers = count;
    return options;
}

// Returns once `count` fibers and threads wait for the object. Context: any thread or fiber.
template <class Object>
void awaitWaiters(const Object& object, std::size_t count) {
    while (object.waiters() != count) thisFiber::yield();
}

// The error that ended the call, or none.
inline ErrorCode outcome(const std::function<void()>& call) {
    try {
        call();
    } catch (const SystemError& error) {
        return error.code();
    }
    return {};
}

inline Deadline soon() {
    return deadlineAfter(std::chrono::milliseconds(1));
}
// For waits that must end otherwise: a failure then ends the test.
inline Deadline late() {
    return deadlineAfter(std::chrono::minutes(1));
}

}  // namespace weft::sync
