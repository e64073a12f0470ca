// Closing a channel, in the order of C-2.
#include <weft/pipeline/channel.hpp>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/scheduler/log.hpp>

#include "channel_private.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

std::exception_ptr Channel::closedException() const {
    return std::make_exception_ptr(ClosedChannelException(closeCause_));
}

// What has been flushed before the close and waits for the flush point goes out first, as it would have without marks.
void Channel::headClose(ChannelPromise promise) {
    if (!closed()) {
        closedHere_ = !loop_.stopping();  // an end of the loop may cross any write, too
        if (active()) flushNow();
    }
    beginClose(std::move(promise), nullptr);
}

// The same for an error of this side: later writes fail with its cause.
void Channel::closeBecauseOf(std::exception_ptr cause) noexcept {
    PipelineEntry entry(*this);
    if (!closed() && active()) flushNow();
    if (!closed()) beginClose({}, std::move(cause));
}

// C-1, C-2 (a) and (b).
void Channel::beginClose(ChannelPromise promise, std::exception_ptr cause) {
    if (closed()) {
        if (promise.isVoid()) return;
        closeFuture().addListener([promise](const ChannelFuture&) { promise.trySuccess(); });
        return;
    }
    promise.setUncancellable();
    closeCause_ = std::move(cause);
    note(Life::isClosed);  // writes fail from here on
    loop_.withdrawFlushPoint(*this);
    stopConnectTimer();
    wantsRead_ = readPending_ = false;
    if (!sink_) return socketClosed(promise);
    ChannelPromise internal = newPromise();
    internal.addListener([this, promise](const ChannelFuture&) { socketClosed(promise); });
    sink_->close(std::move(internal));
}

// C-2 (c) to (f).
void Channel::socketClosed(const ChannelPromise& promise) {
    PipelineEntry entry(*this);
    closeState_.trySuccess();
    promise.trySuccess();
    // C-3: called from inside a flush, the flush's own loop must end first.
    if (!flushing_ && !consuming_) failPendingWrites();
    try {
        loop_.execute([self = ChannelRef(*this)] { self->tearDown(); });  // S-5
    } catch (...) {
        tearDownWithoutTask();
    }
}

// The loop takes no more tasks, or has no memory for one. While it still turns, one of the sink's events may be on the
// stack: the flush point comes after it. When the loop has ended, nothing of the sink can be.
void Channel::tearDownWithoutTask() noexcept {
    const ChannelRef self(*this);
    if (!loop_.dispatching()) return tearDown();
    tearDownDue_ = true;
    detail::retainChannel(*this);
    loop_.requestFlushPoint(*this);
}

// Where flushNow() finds nothing to flush, as it always does for a closed channel.
void Channel::tearDownAtFlushPoint() noexcept {
    if (!std::exchange(tearDownDue_, false)) return;
    tearDown();
    detail::releaseChannel(*this);
}

void Channel::failPendingWrites() {
    if (outbound_.pendingBytes() > 0) outbound_.failAll(closedException());
}

void Channel::tearDown() {
    PipelineEntry entry(*this);
    failPendingWrites();
    onReadComplete();  // every read is followed by its readComplete
    if (activeFired_) pipeline_.fireChannelInactive();
    if (registered()) {
        unnote(Life::isRegistered);
        pipeline_.fireChannelUnregistered();
    }
    fibers_.cancel();  // behind channelInactive: who waits for this connection hears first what became of it
    pipeline_.removeAll();
    letGoOfSelf();  // the caller's task holds another
}

// ---- half-close ----

ChannelFuture Channel::shutdownOutput() {
    ChannelPromise promise = newPromise();
    shutdownOutput(promise);
    return promise.future();
}

// HC-3.
void Channel::shutdownOutput(ChannelPromise promise) {
    if (!mayRunHere()) return runInLoop([this, promise] { shutdownOutput(promise); });
    outputEndedHere_ = !loop_.stopping();
    endOutput(std::move(promise));
}

void Channel::endOutput(ChannelPromise promise) {
    PipelineEntry entry(*this);
    if (closed() || !sink_) {
        promise.tryFailure(closedException());
        return;
    }
    if (is(Life::outputEnded)) {
        promise.trySuccess();
        return;
    }
    if (active()) flushNow();
    note(Life::outputEnded);
    ChannelPromise internal = newPromise();
    internal.addListener([this, promise](const ChannelFuture& done) {
        detail::forward(done, promise);
        if (closed()) return;
        if (outbound_.pendingBytes() > 0) outbound_.failAll(std::make_exception_ptr(OutputShutdownException()));
        updateWritability();  // nothing is pending any more
        if (closed()) return;
        pipeline_.fireUserEventTriggered(Message(OutputShutdownEvent{}));
    });
    sink_->shutdownOutput(std::move(internal));
}

}  // namespace weft
