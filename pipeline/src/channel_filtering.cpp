// A channel whose sink is a filter: the output has two or more parts, of which the transport sends the lowest.
#include <weft/pipeline/channel.hpp>

#include <stdexcept>

#include <weft/pipeline/channel_filter.hpp>

#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

ChannelFilter& Channel::filter() const noexcept {
    return static_cast<ChannelFilter&>(*sink_);
}

ChannelFilter& Channel::lowestFilter() const noexcept {
    return filter().lowest();
}

std::uint64_t Channel::writtenBytes() const noexcept {
    return filtered() ? lowestFilter().encoded_.writtenPosition() : output_.writtenPosition();
}

// ---- adding ----

void Channel::addFilter(std::unique_ptr<ChannelFilter> filter, Buffer&& received) {
    if (!mayConfigureHere()) throw std::logic_error("Channel::addFilter() called outside the channel's loop");
    if (closed()) return;
    if (!sink_ || sink_->listens() || !output_.bytesOnly())
        throw std::logic_error("Channel::addFilter(): the transport is a listener or moves whole messages");
    ChannelFilter& added = *filter;
    added.channel_ = this;
    if (registered()) added.share();
    added.below_ = std::move(sink_);
    sink_ = std::move(filter);
    if (filtered()) {
        added.filterBelow_ = static_cast<ChannelFilter*>(added.below_.get());
        added.filterBelow_->above_ = &added;
        added.counted_ = std::exchange(added.filterBelow_->counted_, 0);
    }
    if (activeFired_) {  // else nothing may have left: a client's first bytes, for example
        output_.flush();
        output_.moveTo(added.encoded_);
        added.below_->outputMoved(added.encoded_);
        added.given_ = added.encoded_.writtenPosition();
    }
    added.delivered_ = reads_.running();
    state_.set(State::isFiltered);
    writes_.addFilter();
    if (reads_.wanted()) added.wantRead(true);  // it may have to know
    countEncoded();
    if (!added.encoded_.empty()) writable();
    completeMoved(added);
    if (received.empty() || closed()) return;
    const bool inCycle = reads_.running();
    added.onRead(std::move(received));
    if (!inCycle && !closed()) added.onReadComplete();
}

// Promises of bytes that have been sent, which a listener of the first of them has moved.
void Channel::completeMoved(ChannelFilter& to) {
    PipelineEntry entry(*this);
    to.encoded_.completeWritten();
    countEncoded();
    if (!closed()) updateWritability();
}

// ---- output ----

bool Channel::outputEmpty() const noexcept {
    return output_.empty() && !(filtered() && filter().pendingBytes() > 0);
}

// The usual flush at a flush point: the filter takes all, and the transport, too, so no handler is called. `output_` is
// plain. False: nothing has been done.
bool Channel::tryFlushThroughFilter() noexcept {
    if (!writes_.mayFlush() || !activeFired_ || closed() || !filter().isIdle()) return false;
    const std::uint64_t given = output_.flushedPosition();
    writes_.beginFlush(given);
    sink_->flush(output_);
    if (!closed() && filter().isIdle() && output_.flushedBytes() == 0) [[likely]] {
        writes_.endFlush();
    } else {
        PipelineEntry entry(*this);
        afterFlush(given);
    }
    return true;
}

// What filters hold counts as what other threads have submitted does: besides the output.
void Channel::countEncoded() noexcept {
    const std::size_t before = std::exchange(filter().counted_, filter().pendingBytes());
    const std::size_t now = filter().counted_;
    if (now > before) writability_.addSubmitted(now - before);
    if (now < before) writability_.subtractSubmitted(before - now);
}

// Reports what encode() threw, because the sink's flush is over.
void Channel::afterFilterFlush() noexcept {
    countEncoded();
    for (ChannelFilter* each = &filter(); each != nullptr && !closed(); each = each->filterBelow_) {
        if (const ErrorCode error = each->takeOutputError()) failOutput(error);
    }
}

// A filter may refuse bytes for a while, and still send its own, such as those of a handshake. One that a listener has
// added in this flush has bytes that the sink has not been given.
void Channel::afterEncoding(std::uint64_t given) noexcept {
    const bool hasUngiven = filter().hasUngiven();
    if (output_.empty() && !hasUngiven) return;
    writes_.setFull(!lowestFilter().encoded_.empty() && !hasUngiven);
    if (!writes_.full() && (hasUngiven || output_.flushedPosition() > given)) requestFlushPoint();
}

// As consume(). What follows in a flush is left to afterFlush().
bool Channel::consumeEncoded(std::size_t bytes) noexcept {
    ChannelFilter& highest = filter();
    const bool isPlain = highest.filterBelow_ == nullptr && highest.encoded_.isPlain();
    if (isPlain && writes_.flushing() && !closed()) [[likely]]
        return highest.encoded_.consumePlain(bytes);
    return consumeEncodedSlow(bytes);
}

[[gnu::noinline]] bool Channel::consumeEncodedSlow(std::size_t bytes) noexcept {
    if (closed() && detail::isDone(closeState_.status())) return true;
    PipelineEntry entry(*this);
    ChannelOutput& encoded = lowestFilter().encoded_;
    const bool outer = writes_.beginConsume();
    encoded.consume(bytes);
    writes_.endConsume(outer);
    countEncoded();
    if (!closed()) updateWritability();
    if (closed()) return true;
    if (!encoded.empty()) {
        // The sink goes on with what it was given. What has been encoded since is given to it at a flush point.
        if (!writes_.flushing() && encoded.writtenPosition() >= lowestFilter().given_) {
            writes_.setFull(false);
            requestFlushPoint();
        }
        return false;
    }
    if (!writes_.flushing() && !outputEmpty()) {
        writes_.setFull(false);
        requestFlushPoint();
    }
    return true;
}

// The oldest bytes first.
void Channel::failOutputWrites(const std::exception_ptr& cause) {
    if (filtered()) {
        filter().failAll(cause);
        countEncoded();
    }
    if (output_.pendingBytes() > 0) output_.failAll(cause);
}

}  // namespace weft
