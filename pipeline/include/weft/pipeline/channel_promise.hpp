// ChannelPromise: completes an operation on a channel; its ChannelFuture reports that. An empty one is the void
// promise.
#pragma once

#include <exception>
#include <utility>

#include <weft/pipeline/channel_future.hpp>

namespace weft {

namespace detail {
class Delivery;
}

// Copyable handle. The void promise allocates nothing and reports nothing: completing it does nothing and returns true.
// Context: any thread.
class ChannelPromise {
  public:
    ChannelPromise() noexcept = default;
    // A promise for an operation on `channel`; its listeners run on that channel's loop. Allocates (pooled).
    explicit ChannelPromise(Channel& channel);
    // A promise without a channel (not created yet, or refused): listeners run on the completing thread.
    static ChannelPromise detached() {
        return ChannelPromise(detail::PromiseStateRef::adopt(detail::PromiseState::create(nullptr, nullptr)));
    }

    // A promise for a channel that may take several attempts to create: channel() is null until trySuccess(channel)
    // names it. Its listeners run on `loop`.
    static ChannelPromise early(EventLoop& loop) {
        return ChannelPromise(detail::PromiseStateRef::adopt(detail::PromiseState::createEarly(loop)));
    }

    bool isVoid() const noexcept { return !state_; }
    explicit operator bool() const noexcept { return static_cast<bool>(state_); }
    // Reports the outcome; empty for the void promise.
    ChannelFuture future() const noexcept { return ChannelFuture(state_); }
    bool done() const noexcept { return state_ && detail::isDone(state_->status()); }
    bool cancelled() const noexcept { return state_ && state_->status() == PromiseStatus::cancelled; }
    ChannelRef channel() const noexcept { return state_ ? state_->channelRef() : ChannelRef(); }

    // Complete the operation. False: it was done already. (F-1)
    bool trySuccess() const { return !state_ || state_->trySuccess(); }
    bool trySuccess(Channel& channel) const { return !state_ || state_->trySuccess(channel); }  // for early()
    bool tryFailure(std::exception_ptr cause) const { return !state_ || state_->tryFailure(std::move(cause)); }
    bool tryFailure(ErrorCode error) const;
    // As try..., but throw std::logic_error when the operation is done already, which is a bug. (F-1)
    void setSuccess() const;
    void setFailure(std::exception_ptr cause) const;
    void setFailure(ErrorCode error) const;
    // Forbids cancelling from here on. False: it has been cancelled already, and the operation must not happen. Call it
    // in a handler that passes the promise on with something else than the whole message: cancelling would remove that
    // alone (W-2).
    bool setUncancellable() const noexcept { return !state_ || state_->setUncancellable(); }

    const ChannelPromise& addListener(ChannelFuture::Listener listener) const {
        if (state_) state_->listen(std::move(listener));
        return *this;
    }

    friend bool operator==(const ChannelPromise& left, const ChannelPromise& right) noexcept {
        return left.state_ == right.state_;
    }

  private:
    friend class Channel;
    friend class ChannelHandlerContext;
    friend class detail::Delivery;
    explicit ChannelPromise(detail::PromiseStateRef state) noexcept : state_(std::move(state)) {}
    bool belongsTo(const Channel& channel) const noexcept {
        return !state_ || !state_->channel() || state_->channel() == &channel;
    }
    bool isCloseFuture() const noexcept { return state_ && state_->isCloseFuture(); }
    detail::PromiseStateRef state_;
};

// Listener for the last write of a connection: closes the channel whatever the outcome (C-5).
void closeChannel(const ChannelFuture& future);
// Listener: closes the channel when the operation failed or was cancelled.
void closeChannelOnFailure(const ChannelFuture& future);

}  // namespace weft
