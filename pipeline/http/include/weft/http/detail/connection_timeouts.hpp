// ConnectionTimeouts: tells a server connection when its client has taken too long. Each connection has one timer,
// which is set again only when it fires or when a wait begins that may end earlier. A request that arrives in one piece
// touches neither the timer nor the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <weft/http/server_timeouts.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft::http::detail {

// User event: call check().
struct TimeoutCheck {};

enum class TimeoutKind : std::uint8_t { head, body, idle, stalled };

// Context: the channel's loop. Allocates when it sets the timer.
class ConnectionTimeouts {
  public:
    // What the owner reports to check().
    struct Activity {
        std::uint64_t requests = 0;  // read so far
        std::uint64_t written = 0;   // bytes in the kernel so far
        bool pending = false;        // something is written and not in the kernel
        bool unanswered = false;     // a request has no answer yet
        bool reading = false;        // the owner reads from the connection
    };

    // `limits` must outlive this object. Throws std::invalid_argument for limits out of range.
    explicit ConnectionTimeouts(const ServerTimeouts& limits);
    explicit ConnectionTimeouts(ServerTimeouts&&) = delete;

    // Call it when the connection begins. The first head must be complete within the head timeout from now on, and the
    // first byte must arrive within the idle timeout, too.
    void begin(Channel& channel);
    // Cancels the timer. Does nothing before begin().
    void end() noexcept;

    // Part of a head or body has arrived, and the rest has not.
    void awaitHead();
    void awaitBody() { await(Wait::body); }
    bool awaitsHead() const noexcept { return wait_ == Wait::head; }
    bool awaitsBody() const noexcept { return wait_ == Wait::body; }
    // If true, the owner must report the arrival of a request: by satisfied(), awaitHead() or awaitBody().
    bool waiting() const noexcept { return wait_ != Wait::none; }
    void satisfied();
    void noteBody(std::size_t bytes) noexcept { bodyBytes_ += bytes; }
    // The owner stops reading, or reads again. The time between the two calls is excluded from the timeouts.
    void pause() noexcept;
    void resume();

    // Returns the timeout that has been exceeded; otherwise sets the timer for the next check.
    std::optional<TimeoutKind> check(const Activity& activity);

  private:
    enum class Wait : std::uint8_t { none, idle, first, head, body };  // first: for the first byte of the connection

    void await(Wait what);
    Duration interval() const noexcept;
    Deadline endOfWait() const noexcept;
    Deadline endOfIdleness() const noexcept;
    std::optional<TimeoutKind> evaluate(const Activity& activity, TimePoint now) noexcept;
    void checkBy(Deadline at);

    Wait wait_ = Wait::none;
    bool paused_ = false;  // since pausedAt_
    // At the last check.
    bool pendingBefore_ = false;
    bool quietBefore_ = false;
    std::uint64_t requestsBefore_ = 0;
    std::uint64_t writtenBefore_ = 0;

    const ServerTimeouts& limits_;
    Channel* channel_ = nullptr;
    ScheduledTask timer_;
    Deadline nextCheck_ = never;

    TimePoint since_{};  // the wait began, moved forward by the time of its pauses
    TimePoint pausedAt_{};
    std::uint64_t bodyBytes_ = 0;  // of the current body, so far

    TimePoint idleSince_{};     // nothing has arrived since then; at most one interval too late
    TimePoint stalledSince_{};  // the peer has accepted nothing since then; at most one interval too late
};

}  // namespace weft::http::detail
