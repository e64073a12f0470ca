// ChannelFuture: the reading side of an operation on a channel: wait for it, listen to it, cancel it.
#pragma once

#include <chrono>
#include <exception>
#include <utility>

#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/detail/promise_state.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

// Copyable; may be empty (then only valid() may be called). Context: any thread.
class ChannelFuture {
  public:
    using Listener = detail::PromiseState::Listener;

    ChannelFuture() noexcept = default;

    bool valid() const noexcept { return static_cast<bool>(state_); }
    bool done() const noexcept { return detail::isDone(state_->status()); }
    bool success() const noexcept { return state_->status() == PromiseStatus::success; }
    bool cancelled() const noexcept { return state_->status() == PromiseStatus::cancelled; }
    PromiseStatus status() const noexcept { return state_->status(); }
    // Why it failed; null while pending, on success; SystemError(operation_aborted) when cancelled.
    std::exception_ptr cause() const { return state_->cause(); }
    // As cause(), for failures that came as an error code; EIO for any other exception, none when not failed.
    ErrorCode error() const { return state_->error(); }
    // The channel that the operation belongs to; null when the operation failed before there was one.
    ChannelRef channel() const noexcept { return state_->channelRef(); }

    // Calls listener(const ChannelFuture&) once, on the channel's loop, after those added before it. Added in the loop
    // to a completed future it is called before addListener() returns, otherwise from a task; notifications nested
    // deeper than 8 become tasks. A listener that throws is logged; the others run. (F-2, E-4)
    const ChannelFuture& addListener(Listener listener) const {
        state_->listen(std::move(listener));
        return *this;
    }

    // Waits until done: an ordinary fiber parks, a foreign thread blocks. Throws BlockingOperationException where
    // nothing may block (dispatch, a pipeline entry, an embedded loop's own thread) unless done already, and
    // SystemError(operation_aborted) when the fiber is cancelled or its carrier shuts down. (F-3, F-4)
    const ChannelFuture& await() const;
    // As await(); false when `deadline` came first.
    bool awaitUntil(Deadline deadline) const;
    template <class Rep, class Period>
    bool awaitFor(std::chrono::duration<Rep, Period> time) const {
        return awaitUntil(deadlineAfter(saturated(time)));
    }
    // As await(), then throws cause() when it failed.
    const ChannelFuture& sync() const;

    // Asks that the operation not happen; false when it is done or cannot be cancelled any more. A cancelled connect
    // closes its channel; a cancelled write is skipped if it has not been flushed.
    bool cancel() const { return state_->tryCancel(); }

    friend bool operator==(const ChannelFuture& left, const ChannelFuture& right) noexcept {
        return left.state_ == right.state_;
    }

  protected:
    explicit ChannelFuture(detail::PromiseStateRef state) noexcept : state_(std::move(state)) {}
    friend class detail::PromiseState;
    friend class ChannelPromise;
    friend class Channel;
    detail::PromiseStateRef state_;
};

}  // namespace weft
