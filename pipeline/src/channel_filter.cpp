#include <weft/pipeline/channel_filter.hpp>

#include <cerrno>
#include <limits>

#include <sys/uio.h>

#include <weft/pipeline/channel.hpp>

namespace weft {

ChannelFilter::~ChannelFilter() = default;

ChannelOutput& ChannelFilter::plain() const noexcept {
    return above_ != nullptr ? above_->encoded_ : channel_->output_;
}

ChannelFilter& ChannelFilter::lowest() noexcept {
    return filterBelow_ != nullptr ? filterBelow_->lowest() : *this;
}

// ---- input ----

void ChannelFilter::onReadComplete() noexcept {
    if (!std::exchange(delivered_, false)) return;
    above_ != nullptr ? above_->onReadComplete() : channel_->completeRead();
}

void ChannelFilter::deliver(Buffer&& plain) noexcept {
    delivered_ = true;
    above_ != nullptr ? above_->onRead(std::move(plain)) : channel_->read(std::move(plain));
}

void ChannelFilter::endInput() noexcept {
    delivered_ = false;  // the channel ends the read cycle
    above_ != nullptr ? above_->onEof() : channel_->eof();
}

void ChannelFilter::failInput(ErrorCode error, const std::exception_ptr& cause) noexcept {
    delivered_ = false;
    above_ != nullptr ? above_->onError(error) : channel_->fail(cause);
}

void ChannelFilter::failOutput(ErrorCode error) noexcept {
    above_ != nullptr ? above_->onWriteError(error) : channel_->failOutput(error);
}

// ---- output ----

// As long as the transport takes all that is encoded. What listeners flush meanwhile waits for the next flush point.
// One may have added a filter above this one.
void ChannelFilter::flush(ChannelOutput& plain) {
    const std::uint64_t end = plain.flushedPosition();
    for (bool goesOn = true; goesOn;) {
        const bool some = plain.isPlain() ? encodeRun(plain) : encodeFlushed(plain, mostEncoded);
        const bool isBelow = filterBelow_ != nullptr && filterBelow_->pendingBytes() > 0;  // bytes of its own
        if (!encoded_.empty() || isBelow) flushBelow();
        goesOn = some && plain.writtenPosition() < end && &plain == &this->plain() && encoded_.empty() &&
                 !channel_->closed();
    }
    encoded_.leaveBlock();
}

void ChannelFilter::flushBelow() {
    given_ = encoded_.flushedPosition();
    below_->flush(encoded_);
}

// As encodeFlushed(), for bytes in one run without promises.
bool ChannelFilter::encodeRun(ChannelOutput& plain) {
    bool some = false;
    try {
        while (encoded_.flushedBytes() < mostEncoded && plain.flushedBytes() > 0) {
            const std::size_t taken = encode(plain.single(), encoded_);
            if (taken == 0) break;
            plain.consumePlain(taken);
            encoded_.flush();
            some = true;
        }
        encoded_.flush();
    } catch (...) {
        outputError_ = fromErrno(ENOMEM);
    }
    return some;
}

// Until `most` bytes wait. Returns whether there were any. The room for the promises is made first, so that nothing
// fails once the bytes are encoded.
bool ChannelFilter::encodeFlushed(ChannelOutput& plain, std::size_t most) {
    bool some = false;
    try {
        encoded_.reserveMarksOf(plain);
        iovec run;
        while (encoded_.flushedBytes() < most && plain.gather(&run, 1, mostEncoded) == 1) {
            const std::size_t taken = encode({static_cast<const char*>(run.iov_base), run.iov_len}, encoded_);
            if (taken == 0) break;
            plain.passTo(encoded_, taken);
            encoded_.flush();
            some = true;
        }
        if (plain.flushedBytes() == 0) plain.passTo(encoded_, 0);  // writes of no bytes
        encoded_.flush();
    } catch (...) {
        outputError_ = fromErrno(ENOMEM);
    }
    return some;
}

// A close sends what the transport takes, so all of it must be there.
void ChannelFilter::encodeRest() {
    if (!outputError_) encodeFlushed(plain(), std::numeric_limits<std::size_t>::max());
    if (!outputError_ && plain().flushedBytes() == 0) finish(encoded_);  // else bytes are missing before it
    encoded_.flush();
    if (!encoded_.empty() && channel_->state_.is(detail::ChannelState::isActive)) flushBelow();
    encoded_.leaveBlock();
}

void ChannelFilter::sendEncoded() {
    encoded_.flush();
    channel_->countEncoded();
    channel_->requestFlushPoint();
}

void ChannelFilter::resumeOutput() noexcept {
    channel_->writable();
}

std::size_t ChannelFilter::pendingBytes() const noexcept {
    return encoded_.pendingBytes() + (filterBelow_ != nullptr ? filterBelow_->pendingBytes() : 0);
}

void ChannelFilter::leaveBlock() noexcept {
    encoded_.leaveBlock();
    if (filterBelow_ != nullptr) filterBelow_->leaveBlock();
}

// The oldest bytes first.
void ChannelFilter::failAll(const std::exception_ptr& cause) {
    if (filterBelow_ != nullptr) filterBelow_->failAll(cause);
    if (encoded_.pendingBytes() > 0) encoded_.failAll(cause);
}

// ---- life ----

void ChannelFilter::registered() {
    below_->registered();
    share();
}

void ChannelFilter::share() {
    EventLoop& loop = channel_->loop();
    encoded_.share(loop.local<detail::OutputBlock>(), loop, FlushPointListener::ignored());
}

void ChannelFilter::shutdownOutput(ChannelPromise promise) {
    encodeRest();
    if (outputError_ || plain().flushedBytes() > 0) {
        promise.tryFailure(fromErrno(EAGAIN));  // the channel stays as it is
        return;
    }
    below_->shutdownOutput(std::move(promise));
}

void ChannelFilter::deregister(ChannelPromise promise) {
    encoded_.unshare();
    below_->deregister(std::move(promise));
}

void ChannelFilter::close(ChannelPromise promise) {
    encodeRest();
    encoded_.unshare();
    below_->close(std::move(promise));
}

}  // namespace weft
