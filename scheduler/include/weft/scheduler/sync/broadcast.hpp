// sync::Broadcast: every receiver gets every value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_broadcast.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {
template <class, class>
class BroadcastBranch;  // of sync::select()
}

namespace weft::sync {

// A sender never waits: a receiver that is more than `capacity` values behind misses the oldest, and learns how many.
// Any thread may call any member. Example:
//     sync::Broadcast<Event> events(64);
//     sync::BroadcastReceiver receiver(events);                      // gets what is sent from here on
//     weft::spawn([receiver = std::move(receiver)]() mutable {
//         while (auto event = receiver.receive()) handle(*event);    // until events.close()
//     });
// T: its copy and move constructors are noexcept; they run with the lock held, so they must be short, and neither use
// the Broadcast nor wait. Values are destroyed without the lock.
template <class T>
class Broadcast {
    static_assert(std::is_nothrow_copy_constructible_v<T> && std::is_nothrow_move_constructible_v<T>,
                  "a Broadcast copies its values under its lock: copies must be noexcept; if they are not, send "
                  "std::shared_ptr to const values");

  public:
    // The number of values that it keeps for slow receivers: at least 1; else an assertion fails. Allocates their
    // places.
    explicit Broadcast(std::size_t capacity) : core_(asserted(capacity)) {}
    // No BroadcastReceiver may be left.
    ~Broadcast() = default;
    Broadcast(const Broadcast&) = delete;
    Broadcast& operator=(const Broadcast&) = delete;

    // Returns the number of receivers that the value is for. 0: there is none, or it is closed; the value is dropped.
    // Never blocks or allocates. A value is destroyed when its last receiver has read it, or another one replaces it.
    std::size_t send(T value) { return core_.send(std::move(value)); }

    // Ends the waits of all receivers; they still get the values that were sent before. Returns false if it was closed
    // before.
    bool close() noexcept { return core_.close(); }
    bool isClosed() const { return core_.isClosed(); }
    // These may be outdated when they return.
    std::size_t receivers() const { return core_.receivers(); }
    std::size_t waiters() const { return core_.waiters(); }

  private:
    template <class>
    friend class BroadcastReceiver;
    using Core = detail::BasicBroadcast<detail::NativeSync, T>;

    static std::size_t asserted(std::size_t capacity) {
        WEFT_ASSERT(capacity > 0, "sync::Broadcast: a capacity of at least 1");
        return capacity;
    }

    Core core_;
};

// Gets the values that are sent during its life. Used by one fiber or thread at a time. The Broadcast must outlive it.
template <class T>
class BroadcastReceiver {
  public:
    explicit BroadcastReceiver(Broadcast<T>& broadcast) : core_(&broadcast.core_), next_(core_->subscribe()) {}
    // `other` may then only be destroyed. No call of it may be in progress.
    BroadcastReceiver(BroadcastReceiver&& other) noexcept
        : core_(std::exchange(other.core_, nullptr)), next_(other.next_), missed_(other.missed_) {}
    ~BroadcastReceiver() {
        if (core_ != nullptr) core_->unsubscribe(next_);
    }
    BroadcastReceiver(const BroadcastReceiver&) = delete;
    BroadcastReceiver& operator=(const BroadcastReceiver&) = delete;

    // Waits for the next value. No value: the Broadcast is closed and all has been received. Adds to missed() the
    // values that were replaced before this receiver read them. If the fiber is cancelled during the wait or its
    // carrier shuts down, the throwing overload throws SystemError(operation_aborted), the other sets `error`. Context:
    // a fiber or a plain thread. Where nothing may block, a value that is there is received, and otherwise both throw
    // BlockingOperationException. Never allocates.
    [[nodiscard]] std::optional<T> receive() {
        std::optional<T> value;
        constexpr const char* call = "sync::BroadcastReceiver::receive";
        detail::throwOnError(receiveOr(value, never, call), call);
        return value;
    }
    [[nodiscard]] std::optional<T> receive(ErrorCode& error) {
        return receiveOr(never, error, "sync::BroadcastReceiver::receive");
    }
    // The same with a deadline, at which `error` is timed_out.
    [[nodiscard]] std::optional<T> receiveUntil(Deadline deadline, ErrorCode& error) {
        return receiveOr(deadline, error, "sync::BroadcastReceiver::receiveUntil");
    }
    // No value: all has been received. Never blocks.
    [[nodiscard]] std::optional<T> tryReceive() {
        std::optional<T> value;
        static_cast<void>(tryReceiveOr(value));
        return value;
    }
    // How many values this receiver has missed in all.
    std::uint64_t missed() const noexcept { return missed_; }

  private:
    template <class, class>
    friend class detail::BroadcastBranch;

    bool tryReceiveOr(std::optional<T>& value) {
        std::uint64_t missed = 0;
        const bool ready = core_->tryReceive(next_, value, missed);
        missed_ += missed;
        return ready;
    }
    std::optional<T> receiveOr(Deadline deadline, ErrorCode& error, const char* call) {
        std::optional<T> value;
        error = receiveOr(value, deadline, call);
        return value;
    }
    ErrorCode receiveOr(std::optional<T>& value, Deadline deadline, const char* call) {
        std::uint64_t missed = 0;
        const ErrorCode error = core_->receive(next_, value, missed, deadline, call);
        missed_ += missed;
        return error;
    }

    typename Broadcast<T>::Core* core_;
    typename Broadcast<T>::Core::Number next_;
    std::uint64_t missed_ = 0;
};

}  // namespace weft::sync
