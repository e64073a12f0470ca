// The inbound half of a channel: read cycles, the end of input, read errors.
#include <weft/pipeline/channel.hpp>

#include <algorithm>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>

#include "context_calls.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::OutermostEntry;
using detail::PipelineEntry;

// While the sink reads, the channel is open and its input has not ended.
inline void Channel::permitRead() noexcept {
    if (!wantsRead_) [[unlikely]]
        return startReading();
    readPending_ = true;
}

// a read() is the permission for one cycle; the sink is told only when the answer changes.
void Channel::headRead() {
    permitRead();
}

[[gnu::noinline]] void Channel::startReading() noexcept {
    if (closed() || inputShutdown_) return;
    readPending_ = true;
    if (active() && registered()) setWantRead(true);
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

inline void Channel::completeCycle() noexcept {
    cycleMessages_ = 0;
    if (config_.autoRead && !pipeline_.readsWatched()) {
        permitRead();  // all that the events would come to
    } else {
        tellOfCycle();
    }
}

[[gnu::noinline]] void Channel::tellOfCycle() noexcept {
    // As ChannelPipeline::fireChannelReadComplete(), which may be called from anywhere.
    pipeline_.head_.fireChannelReadComplete();
    readIfAutoRead();
    if (!readPending_ && wantsRead_ && !closed()) setWantRead(false);
}

inline void Channel::learnReadSize(std::size_t bytes) noexcept {
    if (bytes >= readBytes_ || bytes < shrinkBelow_) [[unlikely]]
        return changeReadSize(bytes);
    smallReads_ = 0;
}

// grow at once when a read filled its buffer, shrink after two small ones.
[[gnu::cold]] void Channel::changeReadSize(std::size_t bytes) noexcept {
    if (bytes >= readBytes_) {
        readBytes_ = std::min(readBytes_ * 4, sink_->maxReadBytes());
    } else {
        if (++smallReads_ < 2) return;
        readBytes_ = std::max(readBytes_ / 2, minReadBytes);
    }
    smallReads_ = 0;
    shrinkBelow_ = readBytes_ > minReadBytes ? readBytes_ / 4 : 0;
}

inline void Channel::countMessage() noexcept {
    ++cycleMessages_;
    readPending_ = false;  // used up; a read() from here on is for the next cycle
}

inline void Channel::deliver(Buffer&& bytes) noexcept {
    countMessage();
    learnReadSize(bytes.readableBytes());
    pipeline_.head_.passRead(Message(std::move(bytes)));
}

void Channel::onRead(Buffer&& bytes) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    deliver(std::move(bytes));
}

void Channel::onLastRead(Buffer&& bytes) noexcept {
    if (closed()) return;
    if (!OutermostEntry::possible(*this)) [[unlikely]]
        return enterLastRead(std::move(bytes));
    OutermostEntry entry(*this);
    deliver(std::move(bytes));
    if (!closed()) completeCycle();
}

[[gnu::cold]] void Channel::enterLastRead(Buffer&& bytes) noexcept {
    PipelineEntry entry(*this);
    deliver(std::move(bytes));
    if (!closed()) completeCycle();
}

void Channel::onMessage(Message&& message) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    countMessage();
    pipeline_.fireChannelRead(std::move(message));
}

void Channel::onReadComplete() noexcept {
    if (!inCycle() && (closed() || inputShutdown_)) return;
    PipelineEntry entry(*this);
    completeCycle();
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
        if (inCycle()) completeCycle();
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
    if (inCycle()) completeCycle();
    const std::exception_ptr cause = std::make_exception_ptr(SystemError(error));
    pipeline_.fireExceptionCaught(cause);
    if (!listening_ && !closed()) beginClose({}, cause);
}

}  // namespace weft
