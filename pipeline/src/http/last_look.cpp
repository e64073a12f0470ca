// A flush point comes right before a poll, and a task that is queued there runs behind that poll.
#include <weft/pipeline/http/last_look.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/carrier.hpp>

namespace weft::http::detail {

void LastLook::join(Channel& channel) {
    if (channels_.empty()) {
        loop_ = &channel.loop();
        end_ = deadlineAfter(loop_->clock().now(), longest);
        loop_->requestFlushPoint(*this);
    }
    joined_ = true;
    channels_.emplace_back(channel);
}

void LastLook::onFlushPoint() noexcept {
    joined_ = false;
    eventsBefore_ = eventsSoFar();
    try {
        loop_->execute([this] { afterPoll(); });
    } catch (...) {
        channels_.clear();  // the loop has ended, and its channels with it
    }
}

void LastLook::afterPoll() {
    const bool news = eventsSoFar() != eventsBefore_ && loop_->clock().now() < end_;
    if (joined_ || news) return loop_->requestFlushPoint(*this);
    for (const auto& channel : std::exchange(channels_, {})) {
        channel->pipeline().fireUserEventTriggered(Message(LastLookOver{}));
    }
}

// An embedded loop polls nothing: its driver has delivered what there is.
std::uint64_t LastLook::eventsSoFar() const noexcept {
    return loop_->carrier() != nullptr ? loop_->carrier()->stats().ioEvents : 0;
}

}  // namespace weft::http::detail
