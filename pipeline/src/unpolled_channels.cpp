#include <weft/pipeline/detail/unpolled_channels.hpp>

#include <new>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::detail {

void UnpolledChannels::Member::join() {
    EventLoop& loop = channel_.loop();
    UnpolledChannels& all = loop.local<UnpolledChannels>();
    if (all.closed_.lock().get() == &loop) throw SystemError(operationAborted(), "the event loop closes its channels");
    all_ = &all;
    previous_ = nullptr;
    next_ = all.first_;
    if (next_ != nullptr) next_->previous_ = this;
    all.first_ = this;
}

void UnpolledChannels::Member::leave() noexcept {
    if (all_ == nullptr) return;
    (previous_ != nullptr ? previous_->next_ : all_->first_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
    all_ = nullptr;
}

// A handler may prevent a close, and may close others.
void UnpolledChannels::closeAllOf(EventLoop& loop) noexcept {
    try {
        UnpolledChannels& all = loop.local<UnpolledChannels>();
        all.closed_ = loop.weak_from_this();
        while (Member* const first = all.first_) {
            const ChannelRef channel(first->channel_);
            first->leave();
            channel->close(ChannelPromise());
        }
    } catch (const std::bad_alloc&) {  // there is no list yet
    }
}

}  // namespace weft::detail
