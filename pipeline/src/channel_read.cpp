// The inbound half of a channel: read cycles, the end of input, read errors.
#include <weft/pipeline/channel.hpp>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_filter.hpp>

#include "context_calls.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

[[gnu::noinline]] void Channel::startReading() noexcept {
    if (closed() || reads_.inputEnded()) return;
    reads_.permit();
    if (active() && registered()) setWantRead(true);
}

void Channel::setWantRead(bool on) noexcept {
    reads_.setWanted(on);
    sink_->wantRead(on);
}

// AUTO_READ off withdraws the permission to read.
void Channel::stopReading() noexcept {
    reads_.forbid();
    if (reads_.wanted()) setWantRead(false);
}

inline void Channel::completeCycle() noexcept {
    reads_.complete();
    if (config_.autoRead && !pipeline_.readsWatched()) {
        permitRead();  // the events would do no more than this
    } else {
        completeCycleSlow();
    }
}

[[gnu::noinline]] void Channel::completeCycleSlow() noexcept {
    pipeline_.fireChannelReadComplete();
    if (!reads_.permitted() && reads_.wanted() && !closed()) setWantRead(false);
}

[[gnu::cold]] void Channel::changeReadSize(std::size_t bytes) noexcept {
    readSize_.change(bytes, sink_->maxReadBytes());
}

inline void Channel::deliver(Buffer&& bytes) noexcept {
    reads_.count();
    if (readSize_.learn(bytes.readableBytes())) [[unlikely]]
        changeReadSize(bytes.readableBytes());
    pipeline_.head_.passRead(Message(std::move(bytes)));
}

void Channel::onRead(Buffer&& bytes) noexcept {
    if (!state_.is(0, State::isClosed | State::isFiltered)) [[unlikely]]
        return readElsewhere(std::move(bytes), false);
    read(std::move(bytes));
}

void Channel::read(Buffer&& bytes) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    deliver(std::move(bytes));
}

// By the filter, if the channel is not closed.
[[gnu::cold, gnu::noinline]] void Channel::readElsewhere(Buffer&& bytes, bool isLast) noexcept {
    if (!closed()) lowestFilter().onRead(std::move(bytes));
    if (isLast && !closed()) lowestFilter().onReadComplete();
}

void Channel::onLastRead(Buffer&& bytes) noexcept {
    if (!state_.is(0, State::isClosed | State::isFiltered)) [[unlikely]]
        return readElsewhere(std::move(bytes), true);
    if (!PipelineEntry::Outermost::possible(*this)) [[unlikely]]
        return enterLastRead(std::move(bytes));
    PipelineEntry::Outermost entry(*this);
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
    reads_.count();
    pipeline_.fireChannelRead(std::move(message));
}

void Channel::onReadComplete() noexcept {
    filtered() ? lowestFilter().onReadComplete() : completeRead();
}

void Channel::completeRead() noexcept {
    if (!reads_.running() && (closed() || reads_.inputEnded())) return;
    PipelineEntry entry(*this);
    completeCycle();
}

void Channel::onEof() noexcept {
    if (closed()) return;
    filtered() ? lowestFilter().onEof() : eof();
}

void Channel::eof() noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    if (reads_.inputEnded()) {
        if (reads_.takeSecondReport()) {
            pipeline_.fireUserEventTriggered(Message(InputShutdownReadCompleteEvent{}));
        }
        return;
    }
    if (config_.allowHalfClosure) {
        reads_.endInput();
        stopReading();
        if (reads_.running()) completeCycle();
        if (!closed()) pipeline_.fireUserEventTriggered(Message(InputShutdownEvent{}));
        return;
    }
    completeCycle();
    if (!closed()) beginClose({}, nullptr);
}

void Channel::onError(ErrorCode error) noexcept {
    if (closed()) return;
    filtered() ? lowestFilter().onError(error) : fail(std::make_exception_ptr(SystemError(error)));
}

void Channel::fail(const std::exception_ptr& cause) noexcept {
    if (closed()) return;
    PipelineEntry entry(*this);
    if (reads_.running()) completeCycle();
    pipeline_.fireExceptionCaught(cause);
    if (!listening_ && !closed()) beginClose({}, cause);
}

}  // namespace weft
