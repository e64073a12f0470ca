// DrainBarrier: holds back the close of idle connections in a drain until the loop has read everything that the kernel
// had received for them when the drain began. One per loop: EventLoop::local<DrainBarrier>().
#pragma once

#include <cstdint>
#include <vector>

#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::http::detail {

// User event: the barrier that this channel joined has been passed.
struct DrainBarrierPassed {};

// The loop passes the barrier after the first poll without new events, and after `longest` at the latest, since other
// connections of the loop may have events all the time. Context: the loop.
class DrainBarrier final : private FlushPointListener {
  public:
    static constexpr Duration longest = std::chrono::milliseconds(250);

    // Fires DrainBarrierPassed on `channel` after at least one poll that begins after this call; never inside this
    // call.
    void join(Channel& channel);

  private:
    void onFlushPoint() noexcept override;
    void afterPoll();
    std::uint64_t eventsSoFar() const noexcept;

    EventLoop* loop_ = nullptr;  // of the channels
    std::vector<ChannelRef> channels_;
    Deadline end_ = never;
    std::uint64_t eventsBefore_ = 0;
    bool joined_ = false;  // a channel has joined since the last flush point
};

}  // namespace weft::http::detail
