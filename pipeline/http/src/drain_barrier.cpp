// A flush point precedes a poll; a task that is queued at the flush point runs after that poll.
#include <weft/http/detail/drain_barrier.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/carrier.hpp>

namespace weft::http::detail {

void DrainBarrier::join(Channel& channel) {
    if (channels_.empty()) {
        loop_ = &channel.loop();
        end_ = deadlineAfter(loop_->clock().now(), longest);
        loop_->requestFlushPoint(*this);
    }
    joined_ = true;
    channels_.emplace_back(channel);
}

void DrainBarrier::onFlushPoint() noexcept {
    joined_ = false;
    eventsBefore_ = eventsSoFar();
    try {
        loop_->execute([this] { afterPoll(); });
    } catch (...) {
        channels_.clear();  // the loop and its channels have ended
    }
}

void DrainBarrier::afterPoll() {
    const bool newEvents = eventsSoFar() != eventsBefore_ && loop_->clock().now() < end_;
    if (joined_ || newEvents) return loop_->requestFlushPoint(*this);
    for (const auto& channel : std::exchange(channels_, {})) {
        channel->pipeline().fireUserEventTriggered(Message(DrainBarrierPassed{}));
    }
}

// An embedded loop does not poll: its driver has delivered all events.
std::uint64_t DrainBarrier::eventsSoFar() const noexcept {
    return loop_->carrier() != nullptr ? loop_->carrier()->stats().ioEvents : 0;
}

}  // namespace weft::http::detail
