// FiberQueue: the calls that sync::BoundedQueue, sync::UnboundedQueue and sync::Oneshot share: to receive, and to
// close.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_queue.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/detail/value_storage.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// Calls: the names of the calls in errors and in the fiber dump.
template <class T, class Storage, class Calls>
class FiberQueue {
    static_assert(
        std::is_object_v<T> && std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
        "a queue moves its values under its lock: their move constructor must be noexcept; if it is not, send "
        "them in a std::unique_ptr");

  public:
    // No fiber or thread may be in a call, except that a sender whose value has been received, or a thread that has
    // closed the queue, may not have returned yet. So the receiver of the last value may destroy it. Destroys the
    // values that have not been received.
    ~FiberQueue() = default;
    FiberQueue(const FiberQueue&) = delete;
    FiberQueue& operator=(const FiberQueue&) = delete;

    // Waits for a value. Without a value: the queue is closed and empty. If the fiber is cancelled during the wait or
    // its carrier shuts down, the throwing overload throws SystemError(operation_aborted), the other sets `error`. A
    // value that is there is taken without a check for cancellation. Context: a fiber or a plain thread. Where nothing
    // may block, a value that is there is taken, and otherwise both throw BlockingOperationException. Never allocates.
    // A loop over values that never has to wait must call thisFiber::yieldIfDue().
    [[nodiscard]] std::optional<T> receive() {
        return core_.takeOr([this] { return receiveSlow(); });
    }
    [[nodiscard]] std::optional<T> receive(ErrorCode& error) { return receiveOr(never, error, Calls::receive); }
    // The same with a deadline, at which `error` is timed_out.
    [[nodiscard]] std::optional<T> receiveUntil(Deadline deadline, ErrorCode& error) {
        return receiveOr(deadline, error, Calls::receiveUntil);
    }
    // No value: the queue is empty. Never blocks. Any thread.
    [[nodiscard]] std::optional<T> tryReceive() {
        return core_.takeOr([] { return std::optional<T>(); });
    }

    // Later sends fail. The waits of senders end with EPIPE; they keep their values. Receivers get the values that are
    // in the queue, then none. Returns false if the queue was closed before. Never blocks. Any thread.
    bool close() noexcept { return core_.close(); }

    // These may be outdated when they return. Any thread.
    bool isClosed() const { return core_.isClosed(); }
    std::size_t size() const { return core_.size(); }
    bool isEmpty() const { return size() == 0; }
    // The number of waiting senders and receivers.
    std::size_t waiters() const { return core_.waitingSenders() + core_.waitingReceivers(); }

    using ValueType = T;
    static constexpr bool senderWaits = false;

  protected:
    using Core = BasicQueue<NativeSync, T, Storage>;

    template <class... Args>
    explicit FiberQueue(Args&&... args) : core_(std::forward<Args>(args)...) {}

    ErrorCode sendOr(T& value, Deadline deadline, const char* call) {
        switch (core_.trySend(value)) {
            case QueueStatus::done: return {};
            case QueueStatus::closed: return fromErrno(EPIPE);
            case QueueStatus::wouldWait: break;
        }
        return core_.sendSlow(value, deadline, call);
    }

    Core core_;

  private:
    template <class, class>
    friend class ReceiveBranch;
    template <class, class>
    friend class SendBranch;

    std::optional<T> receiveOr(Deadline deadline, ErrorCode& error, const char* call) {
        error = {};
        return core_.takeOr([&] { return receiveSlow(deadline, error, call); });
    }
    std::optional<T> receiveSlow(Deadline deadline, ErrorCode& error, const char* call) {
        std::optional<T> value;
        error = core_.receiveSlow(value, deadline, call);
        return value;
    }
    [[gnu::noinline]] std::optional<T> receiveSlow() {
        ErrorCode error;
        std::optional<T> value = receiveSlow(never, error, Calls::receive);
        throwOnError(error, Calls::receive);
        return value;
    }
};

}  // namespace weft::detail
