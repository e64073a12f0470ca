#include <weft/pipeline/channel_future.hpp>

#include <stdexcept>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_promise.hpp>

namespace weft {

const ChannelFuture& ChannelFuture::sync() const {
    state_->awaitUntil(never, "ChannelFuture::sync");
    if (const std::exception_ptr failure = cause()) std::rethrow_exception(failure);
    return *this;
}

ChannelPromise::ChannelPromise(Channel& channel)
    : state_(detail::PromiseStateRef::adopt(detail::PromiseState::create(&channel, &channel.loop()))) {}

bool ChannelPromise::tryFailure(ErrorCode error) const {
    return !state_ || tryFailure(std::make_exception_ptr(SystemError(error)));
}

void ChannelPromise::setSuccess() const {
    if (!trySuccess()) throw std::logic_error("ChannelPromise::setSuccess(): the promise is already complete");
}

void ChannelPromise::setFailure(std::exception_ptr cause) const {
    if (!tryFailure(std::move(cause))) {
        throw std::logic_error("ChannelPromise::setFailure(): the promise is already complete");
    }
}

void ChannelPromise::setFailure(ErrorCode error) const {
    setFailure(std::make_exception_ptr(SystemError(error)));
}

void closeChannel(const ChannelFuture& future) {
    if (ChannelRef channel = future.channel()) channel->close({});
}

void closeChannelOnFailure(const ChannelFuture& future) {
    if (!future.success()) closeChannel(future);
}

}  // namespace weft
