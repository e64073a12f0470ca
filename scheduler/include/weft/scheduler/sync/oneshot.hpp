// sync::Oneshot: one value from a sender to a receiver, without an allocation.
#pragma once

#include <utility>

#include <weft/scheduler/detail/fiber_queue.hpp>

namespace weft::detail {
struct OneshotCalls {
    static constexpr const char* receive = "sync::Oneshot::receive";
    static constexpr const char* receiveUntil = "sync::Oneshot::receiveUntil";
};
}  // namespace weft::detail

namespace weft::sync {

// Usually a variable of the receiver, which waits until the value has been sent or the cell has been closed; then the
// sender does not use the cell any more. For a sender that may outlive the receiver, use Promise and Future.
// Receiving and closing: see detail::FiberQueue. receive() returns the value once; and no value if the cell was closed
// without one.
template <class T>
class Oneshot : public detail::FiberQueue<T, detail::OneStorage<T>, detail::OneshotCalls> {
  public:
    Oneshot() = default;

    // True for the first value, unless the cell was closed. Otherwise false, and `value` is unchanged. Never blocks or
    // allocates. Any thread.
    bool send(T&& value) { return this->core_.trySendLast(value) == detail::QueueStatus::done; }
    bool send(const T& value) { return send(T(value)); }
};

}  // namespace weft::sync
