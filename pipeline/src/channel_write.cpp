// The outbound half of a channel: writes, flushes and writability.
#include <weft/pipeline/channel.hpp>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_filter.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/log.hpp>

#include <weft/pipeline/detail/encoder_calls.hpp>
#include <weft/pipeline/detail/lost_writes.hpp>
#include "channel_private.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

namespace {

using detail::Writability;

// Fails the promise, or logs the failure when the promise is void.
void refuseUnsupported(const Channel& channel, const Message& message, const ChannelPromise& promise,
                       const std::string& lastWriter) {
    const std::string what =
        "a " + std::string(message.typeName()) + " reached the head of the pipeline of " +
        detail::channelName(channel) + "; " + lastWriter +
        " was the last to pass it on; this transport writes only Buffers, so add a handler that encodes it";
    if (promise.isVoid()) {
        detail::logUnsupportedWrite(what);
    } else {
        promise.tryFailure(std::make_exception_ptr(UnsupportedMessageException(what)));
    }
}

}  // namespace

// A closed channel releases the message and fails the promise (C-4).
void Channel::headWrite(Message&& message, ChannelPromise&& promise) {
    if (!state_.is(0, State::isClosed | State::outputEnded)) [[unlikely]] {
        refuseLate(std::move(message), promise);
    } else if (output_.bytesOnly() && !message.is<Buffer>()) {
        refuseUnsupported(*this, message, promise, pipeline_.lastWriter());
    } else {
        if (!output_.bytesOnly()) message.keep();
        output_.write(std::move(message), std::move(promise));
        updateWritability();
    }
}

// Fails the promise; logs the loss when it is void. Level warning when this side ended the channel and then wrote;
// debug when the peer ended it, or this side closed it after the peer's end of output: both may race with any write.
[[gnu::cold, gnu::noinline]] void Channel::refuseLate(Message&& message, const ChannelPromise& promise) {
    const Message released = std::move(message);
    const bool isClosed = closed();
    if (promise.isVoid()) {
        const bool ours =
            (isClosed ? closedHere_ : outputEndedHere_) && !reads_.inputEnded();  // not loop_: it may be gone
        detail::logLateWrite(ours ? LogLevel::warning : LogLevel::debug, *this, pipeline_.lastWriter(), released,
                             isClosed ? "the channel was closed" : "the channel's output was shut down");
    } else {
        promise.tryFailure(isClosed ? closedException() : std::make_exception_ptr(OutputShutdownException()));
    }
}

ChannelFuture Channel::writeAndClose(Message&& message) {
    writeAndFlush(std::move(message), newPromise().addListener(closeChannel));
    return closeFuture();
}

// Marks (W-7). The kernel write follows at the loop's flush point, or at once when much has gathered. isWritable() is
// checked, too: with their overhead, small writes reach the high mark before their bytes reach the cap, and the writer
// may be waiting for room.
void Channel::headFlush() {
    if (closed()) return;
    output_.flush();
    if (output_.empty()) {
        output_.completeWritten();  // writes of no bytes
        updateWritability();
    } else if (loop_.inFlushPoint() || config_.flushImmediately || !active() || !registered() ||
               output_.flushedBytes() >= flushCap || !isWritable()) {
        flushNow();
    } else if (!writes_.full()) {
        loop_.requestFlushPoint(*this);
    }
}

// Usually no promise and no event depends on the bytes: the sink alone is called.
void Channel::onFlushPoint() noexcept {
    const bool isPlain = output_.isPlain() && isWritable() && active() && output_.flushedBytes() > 0;
    if (isPlain && writes_.mayFlushDirectly()) {
        sink_->flush(output_);
        if (output_.flushedBytes() > 0) writes_.wait(output_.flushedPosition());
    } else if (!isPlain || !filtered() || !tryFlushThroughFilter()) {
        if (tearDownDue_) return tearDownAtFlushPoint();
        flushNow();
        if (filtered()) filter().leaveBlock();
    }
    output_.leaveBlock();
}

// Not re-entrant; with a full socket a flush only marks (W-5). Bytes that listeners flushed meanwhile wait for the next
// flush point. For bytes that it was given and did not take, the sink calls onWritable().
[[gnu::noinline]] void Channel::flushNow() noexcept {
    if (!writes_.mayFlush() || closed() || outputEmpty()) return;
    if (active() && !activeFired_) return;  // accepted: handlers that encrypt may be added with the registration
    PipelineEntry entry(*this);
    if (!active()) {
        output_.failFlushed(std::make_exception_ptr(NotYetConnectedException()));  // not the unflushed ones (W-6)
        updateWritability();
        return;
    }
    const std::uint64_t given = output_.flushedPosition();
    writes_.beginFlush(given);
    sink_->flush(output_);
    afterFlush(given);
}

// Context: a pipeline entry. `given`: the end of what the sink was to take.
void Channel::afterFlush(std::uint64_t given) noexcept {
    writes_.endFlush();
    if (filtered()) afterFilterFlush();
    if (closed()) return;  // the tear-down task fails the rest
    updateWritability();
    if (closed()) return;
    if (filtered()) return afterEncoding(given);
    if (output_.empty()) return;
    writes_.setFull(!output_.bytesOnly() || output_.writtenPosition() < given);
    if (!writes_.full()) requestFlushPoint();
}

// A sink that completes later may report bytes that it sent while it closes: those writes have succeeded.
bool Channel::consume(std::size_t bytes) noexcept {
    if (filtered()) return consumeEncoded(bytes);
    if (output_.isPlain() && isWritable()) {
        output_.consumePlain(bytes);
    } else {
        if (closed() && detail::isDone(closeState_.status())) return true;
        PipelineEntry entry(*this);
        const bool outer = writes_.beginConsume();
        output_.consume(bytes);
        writes_.endConsume(outer);
        if (!closed()) updateWritability();
        if (filtered()) return true;  // a listener has added it: the sink is to send from another output
    }
    if (closed() || output_.empty()) {  // by a listener: the tear-down task fails the rest
        writes_.reportedAll(output_.writtenPosition());
        return true;
    }
    if (writes_.reportedAll(output_.writtenPosition())) requestFlushPoint();
    return false;
}

void Channel::onWritable() noexcept {
    writable();  // flushes through the filters
}

void Channel::writable() noexcept {
    if (closed()) return;
    writes_.setFull(false);
    flushNow();
}

void Channel::onWriteError(ErrorCode error) noexcept {
    if (closed()) return;
    filtered() ? lowestFilter().onWriteError(error) : failOutput(error);
}

void Channel::failOutput(ErrorCode error) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    const std::exception_ptr cause = std::make_exception_ptr(SystemError(error));
    if (config_.autoClose) {
        beginClose({}, cause);
    } else {
        endOutput({}, true);
    }
}

// ---- writability (W-3, W-4) ----

std::size_t Channel::pendingBytes() const noexcept {
    return output_.pendingBytes() + writability_.submitted();
}

std::size_t Channel::bytesBeforeUnwritable() const noexcept {
    const std::size_t high = writability_.high();
    const std::size_t pending = pendingBytes();
    return isWritable() && pending <= high ? high - pending + 1 : 0;
}

std::size_t Channel::bytesBeforeWritable() const noexcept {
    const std::size_t low = writability_.low();
    const std::size_t pending = pendingBytes();
    return !isWritable() && pending >= low ? pending - low + 1 : 0;
}

// Called on the loop after every change of the pending bytes. A task of another thread's write calls it, too.
void Channel::updateWritability() noexcept {
    const std::size_t pending = pendingBytes();
    const bool full = writability_.hasTooManyBytes();
    if (!full && pending > config_.writeBufferWaterMark.high()) changeWritability(Writability::tooManyBytes, 0);
    if (full && pending < config_.writeBufferWaterMark.low()) changeWritability(0, Writability::tooManyBytes);
}

// Fires channelWritabilityChanged at once on the loop, otherwise in a task; never for a closed channel.
void Channel::changeWritability(std::uint32_t set, std::uint32_t clear) noexcept {
    if (!writability_.change(set, clear) || closed()) return;
    try {
        runInLoop([this] {
            if (!closed()) pipeline_.fireChannelWritabilityChanged();
        });
    } catch (...) {
        // The loop has ended: there are no handlers left to call.
    }
}

void Channel::setUserDefinedWritability(unsigned index, bool writable) {
    if (index < 1 || index > 31) {
        throw std::out_of_range("user-defined writability index is " + std::to_string(index) + "; accepted: 1 to 31");
    }
    const std::uint32_t bit = 1u << index;
    changeWritability(writable ? 0 : bit, writable ? bit : 0);
}

// A write from another thread counts as pending from its submission on (TH-4).
void Channel::addSubmitted(std::size_t bytes) noexcept {
    writability_.addSubmitted(bytes);
    if (writability_.hasTooManyBytes() || pendingBytes() <= writability_.high()) return;
    changeWritability(Writability::tooManyBytes, 0);
}

}  // namespace weft
