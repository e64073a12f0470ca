// ChannelFuture: the outcome of an operation on a channel, for those who await it, listen for it or cancel it.
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
    // Why the operation failed: null while pending and on success; SystemError(operation_aborted) when cancelled.
    std::exception_ptr cause() const { return state_->cause(); }
    // The code of a cause() that is a SystemError; EIO for any other exception; none while pending and on success.
    ErrorCode error() const { return state_->error(); }
    // The channel of the operation; null when there is none. For the connect() of a bootstrap: null until it has
    // succeeded.
    ChannelRef channel() const noexcept { return state_->channelRef(); }

    // Calls listener(const ChannelFuture&) once on the channel's loop, after the listeners added before it. If the loop
    // has ended, destroys it instead, on the thread that finds this out, and logs an error. On the loop, a future that
    // is done already calls it before addListener() returns, unless the caller is a listener of this future or eight
    // notifications are nested: then it runs later. On other threads addListener() posts a task. An exception from a
    // listener is logged; the others still run. (F-2, E-4)
    const ChannelFuture& addListener(Listener listener) const {
        state_->listen(std::move(listener));
        return *this;
    }

    // Waits until the operation is done: an ordinary fiber parks, a thread that is not a carrier blocks. Returns at
    // once if the operation is done already. Otherwise throws BlockingOperationException where blocking is forbidden
    // (dispatch, a pipeline entry, an embedded loop's own thread), and SystemError(operation_aborted) when the fiber is
    // cancelled or its carrier shuts down. (F-3, F-4)
    const ChannelFuture& await() const {
        state_->awaitUntil(never, "ChannelFuture::await");
        return *this;
    }
    // As await(), but returns false when `deadline` passes first.
    bool awaitUntil(Deadline deadline) const { return state_->awaitUntil(deadline, "ChannelFuture::awaitUntil"); }
    template <class Rep, class Period>
    bool awaitFor(std::chrono::duration<Rep, Period> time) const {
        return awaitUntil(deadlineAfter(saturated(time)));
    }
    // As await(), then throws cause() when it failed.
    const ChannelFuture& sync() const;

    // Cancels the operation; returns false when it is done or can no longer be cancelled. Cancelling a connect closes
    // its channel. A write can be cancelled until it has been flushed, or taken by an encoder (MessageToByteEncoder,
    // MessageToMessageCodec, LengthFieldPrepender, the HTTP codecs); a cancelled write is not sent. (W-2)
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
