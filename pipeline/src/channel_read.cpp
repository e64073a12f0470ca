// The inbound half of a channel: read cycles, the end of input, read errors.
#include <weft/pipeline/channel.hpp>

#include <algorithm>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>

#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

// a read() is the permission for one cycle; the sink is told only when the answer changes.
void Channel::headRead() {
    if (closed() || inputShutdown_) return;
    readPending_ = true;
    if (!wantsRead_ && active() && registered()) setWantRead(true);
}

void Channel::setWantRead(bool on) noexcept {
    wantsRead_ = on;
    sink_->wantRead(on);
}

// AUTO_READ off takes back what has been permitted.
void Channel::stopReading() noexcept {
    readPending_ = false;
    if (wantsRead_) setWantRead(false);
}

//
void Channel::readIfAutoRead() {
    if (config_.autoRead && !closed()) pipeline_.read();
}

void Channel::openCycle() noexcept {
    if (!inCycle_) {
        inCycle_ = true;
        cycleMessages_ = 0;
    }
    ++cycleMessages_;
    readPending_ = false;  // used up; a read() from here on is for the next cycle
}

inline void Channel::deliver(Buffer&& bytes) noexcept {
    openCycle();
    learnReadSize(bytes.readableBytes());
    pipeline_.fireChannelRead(Message(std::move(bytes)));
}

void Channel::onRead(Buffer&& bytes) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    deliver(std::move(bytes));
}

void Channel::onLastRead(Buffer&& bytes) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    deliver(std::move(bytes));
    if (!closed()) completeCycle();
}

void Channel::onMessage(Message&& message) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    openCycle();
    pipeline_.fireChannelRead(std::move(message));
}

void Channel::onReadComplete() noexcept {
    if (!inCycle_ && (closed() || inputShutdown_)) return;
    PipelineEntry entry(*this);
    completeCycle();
}

void Channel::completeCycle() noexcept {
    inCycle_ = false;
    cycleMessages_ = 0;
    if (config_.autoRead && !pipeline_.readsWatched()) {
        headRead();  // all that the events would come to
    } else {
        // As ChannelPipeline::fireChannelReadComplete(), which may be called from anywhere.
        pipeline_.head_.fireChannelReadComplete();
        readIfAutoRead();
    }
    if (!readPending_ && wantsRead_ && !closed()) setWantRead(false);
}

// grow at once when a read filled its buffer, shrink after two small ones.
void Channel::learnReadSize(std::size_t bytes) noexcept {
    if (bytes >= readBytes_) {
        readBytes_ = std::min(readBytes_ * 4, sink_->maxReadBytes());
        smallReads_ = 0;
    } else if (bytes < readBytes_ / 4) {
        if (++smallReads_ < 2) return;
        readBytes_ = std::max(readBytes_ / 2, minReadBytes);
        smallReads_ = 0;
    } else {
        smallReads_ = 0;
    }
}

// HC-1, HC-2.
void Channel::onEof() noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    if (inputShutdown_) {
        if (!std::exchange(inputShutdownReported_, true)) {
            pipeline_.fireUserEventTriggered(Message(InputShutdownReadCompleteEvent{}));
        }
        return;
    }
    if (config_.allowHalfClosure) {
        inputShutdown_ = true;
        stopReading();
        if (inCycle_) completeCycle();
        if (!closed()) pipeline_.fireUserEventTriggered(Message(InputShutdownEvent{}));
        return;
    }
    completeCycle();
    if (!closed()) beginClose({}, nullptr);
}

// E-6, E-7.
void Channel::onError(ErrorCode error) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    if (inCycle_) completeCycle();
    const std::exception_ptr cause = std::make_exception_ptr(SystemError(error));
    pipeline_.fireExceptionCaught(cause);
    if (!bound_ && !closed()) beginClose({}, cause);
}

}  // namespace weft
