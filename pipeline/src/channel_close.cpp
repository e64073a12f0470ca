// Closing a channel, in the order of rule C-2: the socket, the close future, the promise, pending writes, events.
#include <weft/pipeline/channel.hpp>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/detail/fallback_listener.hpp>
#include <weft/scheduler/log.hpp>

#include "channel_private.hpp"
#include "context_calls.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

std::exception_ptr Channel::closedException() const {
    return std::make_exception_ptr(ClosedChannelException(closeCause_));
}

// First writes what was flushed before the close and waits for the flush point (C-5).
void Channel::headClose(ChannelPromise promise) {
    if (!closed()) {
        closedHere_ = !loop_.stopping();  // a write may race with the end of the loop, too
        if (active()) flushNow();
    }
    beginClose(std::move(promise), nullptr);
}

// The same after an error on this side: later writes fail with `cause` as the cause.
void Channel::closeAfterError(std::exception_ptr cause) noexcept {
    PipelineEntry entry(*this);
    if (!closed() && active()) flushNow();
    if (!closed()) beginClose({}, std::move(cause));
}

// The first close wins, and later ones complete with it (C-1). C-2 (a) and (b): writes fail from here on, then the sink
// closes.
void Channel::beginClose(ChannelPromise promise, std::exception_ptr cause) {
    if (closed()) return completeWithClose(promise);
    promise.setUncancellable();
    closeCause_ = std::move(cause);
    state_.set(State::isClosed);  // writes fail from here on
    loop_.withdrawFlushPoint(*this);
    output_.leaveBlock();
    stopConnectTimer();
    reads_.setWanted(false);
    reads_.forbid();
    if (!sink_) return socketClosed(promise);
    ChannelPromise internal = newPromise();
    internal.addListener([this, promise](const ChannelFuture&) { socketClosed(promise); });
    sink_->close(std::move(internal));
}

// For a close after the first one.
void Channel::completeWithClose(const ChannelPromise& promise) {
    if (promise.isVoid()) return;
    const auto succeed = [promise] { promise.trySuccess(); };
    closeFuture().addListener(detail::FallbackListener([succeed](const ChannelFuture&) { succeed(); }, succeed));
}

// The loop has ended. A channel that was never registered can still be open, and one whose handlers prevented the
// close.
void Channel::refuseClose(const ChannelPromise& promise, std::exception_ptr cause) {
    if (closed()) return completeWithClose(promise);
    promise.tryFailure(std::move(cause));
}

// C-2 (c) to (f): the close future, the promise, pending writes, then events from a task.
void Channel::socketClosed(const ChannelPromise& promise) {
    PipelineEntry entry(*this);
    closeState_.trySuccess();
    promise.trySuccess();
    // Inside a flush, the loop of that flush must end first (C-3).
    if (writes_.mayFailPending()) failPendingWrites();
    try {
        loop_.execute([self = ChannelRef(*this)] { self->tearDown(); });  // not nested in the caller's event (S-5)
    } catch (...) {
        tearDownWithoutTask();
    }
}

// The loop accepts no more tasks, or there is no memory for one. While the loop dispatches, one of the sink's events
// may be on the stack, so this waits for the flush point. Once the loop has ended, there can be none.
void Channel::tearDownWithoutTask() noexcept {
    const ChannelRef self(*this);
    if (!loop_.dispatching()) return tearDown();
    tearDownDue_ = true;
    detail::retainChannel(*this);
    loop_.requestFlushPoint(*this);
}

void Channel::tearDownAtFlushPoint() noexcept {
    tearDownDue_ = false;
    tearDown();
    detail::releaseChannel(*this);
}

void Channel::failPendingWrites() {
    if (filtered()) countEncoded();  // what the last flush has encoded
    if (pendingBytes() > 0) failOutputWrites(closedException());
}

void Channel::tearDown() {
    PipelineEntry entry(*this);
    failPendingWrites();
    completeRead();  // every channelRead is followed by a channelReadComplete
    if (activeFired_) pipeline_.fireChannelInactive();
    if (registered()) {
        state_.clear(State::isRegistered);
        pipeline_.fireChannelUnregistered();
    }
    fibers_.cancel();  // after channelInactive: its handlers can first tell waiting fibers why the connection ended
    pipeline_.removeAll();
    releaseOwnReference();  // the caller holds another reference
}

// ---- half-close ----

ChannelFuture Channel::shutdownOutput() {
    ChannelPromise promise = newPromise();
    shutdownOutput(promise);
    return promise.future();
}

void Channel::shutdownOutput(ChannelPromise promise) {
    if (!detail::entersLoop(loop_)) return detail::post(*this, promise, [this, promise] { shutdownOutput(promise); });
    outputEndedHere_ = !loop_.stopping();
    endOutput(std::move(promise), false);
}

// After a refusal by the sink, which may still be sending, nothing has changed; except that a `broken` output, on which
// no write can succeed, has ended nevertheless.
void Channel::endOutput(ChannelPromise promise, bool broken) {
    PipelineEntry entry(*this);
    if (closed() || !sink_) return refuse(promise);
    if (state_.is(State::outputEnded)) {
        promise.trySuccess();
        return;
    }
    if (active() && !broken) flushNow();
    state_.set(State::outputEnded);
    ChannelPromise internal = newPromise();
    internal.addListener([this, promise, broken](const ChannelFuture& done) {
        if (!done.success() && !broken) state_.clear(State::outputEnded);
        detail::forward(done, promise);
        if (closed() || !state_.is(State::outputEnded)) return;
        failOutputWrites(std::make_exception_ptr(OutputShutdownException()));
        updateWritability();  // nothing is pending any more
        if (closed()) return;
        pipeline_.fireUserEventTriggered(Message(OutputShutdownEvent{}));
    });
    sink_->shutdownOutput(std::move(internal));
}

}  // namespace weft
