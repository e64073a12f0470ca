// sync::UnboundedQueue: a queue of values between any number of senders, which never wait, and receivers.
#pragma once

#include <utility>

#include <weft/scheduler/detail/fiber_queue.hpp>

namespace weft::detail {
struct UnboundedQueueCalls {
    static constexpr const char* receive = "sync::UnboundedQueue::receive";
    static constexpr const char* receiveUntil = "sync::UnboundedQueue::receiveUntil";
};
}  // namespace weft::detail

namespace weft::sync {

using detail::QueueStatus;

// First in, first out. A sender that is faster than the receivers makes it grow until memory is exhausted; use
// BoundedQueue unless something else limits the number of values.
// T: its move constructor and destructor are noexcept; they run with the queue's lock held, so they must
// neither use it nor wait.
// Receiving and closing: see detail::FiberQueue.
template <class T>
class UnboundedQueue : public detail::FiberQueue<T, detail::GrowingStorage<T>, detail::UnboundedQueueCalls> {
  public:
    UnboundedQueue() = default;

    // Moves from `value` only if it is sent. If the queue is closed, the throwing overloads throw SystemError(EPIPE),
    // the other sets `error`. Never blocks. Any thread. Allocates once for each 32 values, unless receivers wait;
    // throws std::bad_alloc, without an effect.
    void send(T&& value) {
        constexpr const char* call = "sync::UnboundedQueue::send";
        detail::throwOnError(this->sendOr(value, never, call), call);
    }
    void send(const T& value) { send(T(value)); }
    void send(T&& value, ErrorCode& error) { error = this->sendOr(value, never, "sync::UnboundedQueue::send"); }
};

}  // namespace weft::sync
