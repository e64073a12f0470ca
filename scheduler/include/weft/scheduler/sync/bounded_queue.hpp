// sync::BoundedQueue: a queue of values between any number of senders and receivers, with back-pressure.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/fiber_queue.hpp>

namespace weft::detail {
struct BoundedQueueCalls {
    static constexpr const char* receive = "sync::BoundedQueue::receive";
    static constexpr const char* receiveUntil = "sync::BoundedQueue::receiveUntil";
};
}  // namespace weft::detail

namespace weft::sync {

using detail::QueueStatus;

// First in, first out, among values, among waiting senders and among waiting receivers. Example:
//     sync::BoundedQueue<Job> jobs(64);
//     weft::spawn([&] { while (auto job = jobs.receive()) run(*job); });  // until the queue is closed and empty
//     jobs.send(job);                                                     // waits while there are 64
//     jobs.close();
// T: its move constructor and destructor are noexcept; they run with the queue's lock held, so they must
// neither use it nor wait.
// Receiving and closing: see detail::FiberQueue.
template <class T>
class BoundedQueue : public detail::FiberQueue<T, detail::FixedStorage<T>, detail::BoundedQueueCalls> {
    using Base = detail::FiberQueue<T, detail::FixedStorage<T>, detail::BoundedQueueCalls>;

  public:
    static constexpr bool senderWaits = true;

    // At least 1; else an assertion fails. Allocates the places of all values.
    explicit BoundedQueue(std::size_t capacity) : Base(asserted(capacity)), capacity_(capacity) {}

    // Waits while the queue is full. Moves from `value` only if it is sent. Errors: EPIPE if the queue is or gets
    // closed, operation_aborted if the fiber is cancelled during the wait or its carrier shuts down; the throwing
    // overloads throw them as SystemError. Context: a fiber or a plain thread. Where nothing may block, a value is sent
    // if the queue is not full, and otherwise all throw BlockingOperationException. Never allocates.
    void send(T&& value) {
        constexpr const char* call = "sync::BoundedQueue::send";
        detail::throwOnError(this->sendOr(value, never, call), call);
    }
    void send(const T& value) { send(T(value)); }
    void send(T&& value, ErrorCode& error) { error = this->sendOr(value, never, "sync::BoundedQueue::send"); }
    // The same with a deadline, at which it returns false (or sets `error` to timed_out).
    [[nodiscard]] bool sendUntil(Deadline deadline, T&& value) {
        constexpr const char* call = "sync::BoundedQueue::sendUntil";
        return detail::falseOnTimeout(this->sendOr(value, deadline, call), call);
    }
    [[nodiscard]] bool sendUntil(Deadline deadline, T&& value, ErrorCode& error) {
        error = this->sendOr(value, deadline, "sync::BoundedQueue::sendUntil");
        return !error;
    }
    // `wouldWait`: the queue is full. Moves from `value` only if the result is `done`. Never blocks. Any thread.
    [[nodiscard]] QueueStatus trySend(T&& value) { return this->core_.trySend(value); }

    std::size_t capacity() const noexcept { return capacity_; }

  private:
    static std::size_t asserted(std::size_t capacity) {
        WEFT_ASSERT(capacity > 0, "sync::BoundedQueue: a capacity of at least 1");
        return capacity;
    }

    const std::size_t capacity_;
};

}  // namespace weft::sync
