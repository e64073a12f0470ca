// LastLook: what a draining loop waits for before it closes its idle connections: that it has seen everything that the
// kernel had received for them by then. Made by EventLoop::local<LastLook>(), one per loop.
#pragma once

#include <cstdint>
#include <vector>

#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::http::detail {

// User event: the look that this channel joined is over.
struct LastLookOver {};

// Context: its loop. A look is a series of polls of the loop; it is over after the first one without any news, or after
// `longest`, for other connections of the loop may have news for ever.
class LastLook final : private FlushPointListener {
  public:
    static constexpr Duration longest = std::chrono::milliseconds(250);

    // Fires LastLookOver on `channel` after at least one poll that begins after this call; never before this returns.
    void join(Channel& channel);

  private:
    void onFlushPoint() noexcept override;
    void afterPoll();
    std::uint64_t eventsSoFar() const noexcept;

    EventLoop* loop_ = nullptr;  // of the channels
    std::vector<ChannelRef> channels_;
    Deadline end_ = never;
    std::uint64_t eventsBefore_ = 0;
    bool joined_ = false;  // somebody, since the last flush point
};

}  // namespace weft::http::detail
