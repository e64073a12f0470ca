// Patience: when a server connection has waited for its client for too long. One timer per connection that is set anew
// only when it fires or when something begins that may end before; a request that comes in one piece touches neither
// timer nor clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/http/server_timeouts.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft::http::detail {

// User event: it is time to look().
struct PatienceLook {};

enum class Impatience : std::uint8_t { head, body, idle, stalled };

// Context: the channel's loop. Allocates when it sets the timer.
class Patience {
  public:
    // What the owner knows at a look.
    struct Situation {
        std::uint64_t requests = 0;  // read so far
        bool pending = false;        // something is written and not in the kernel
        std::uint64_t written = 0;   // bytes in the kernel so far
        bool unanswered = false;     // a request is in work
        bool reading = false;        // the owner takes what comes
    };

    explicit Patience(const ServerTimeouts& limits);

    // The connection begins. From here its first head has the time of a head, and its first byte no more than the idle
    // time either.
    void begin(Channel& channel);
    // No further look. Does nothing before begin().
    void end() noexcept;

    // A head or body has begun to come and is not complete.
    void awaitHead();
    void awaitBody() { await(Wait::body); }
    bool awaitsHead() const noexcept { return wait_ == Wait::head; }
    bool awaitsBody() const noexcept { return wait_ == Wait::body; }
    // A request must be reported by satisfied() (or has begun to come: awaitHead(), awaitBody()).
    bool waiting() const noexcept { return wait_ != Wait::none; }
    void satisfied();
    void noteBody(std::size_t bytes) noexcept { bodyBytes_ += bytes; }
    // While waiting: the owner reads no more, or again.
    void holdBreath() noexcept;
    void breathe();

    // Says what has lasted too long, or sets the timer for the next look.
    std::optional<Impatience> look(const Situation& situation);

  private:
    enum class Wait : std::uint8_t { none, idle, first, head, body };  // first: for the first byte of all

    void await(Wait what);
    Deadline endOfWait() const noexcept;
    Deadline endOfIdleness() const noexcept;
    std::optional<Impatience> judge(const Situation& situation, TimePoint now) noexcept;
    void lookBy(Deadline at);

    Wait wait_ = Wait::none;
    bool holding_ = false;  // the wait stands still since heldSince_

    const ServerTimeouts limits_;
    const Duration interval_;  // between looks at a busy connection
    Channel* channel_ = nullptr;
    ScheduledTask timer_;
    Deadline nextLook_ = never;

    TimePoint since_{};  // the wait began, or later by what it stood still
    TimePoint heldSince_{};
    std::uint64_t bodyBytes_ = 0;  // of the body that is waited for

    Situation last_;            // as the last look found it
    TimePoint idleSince_{};     // nothing has come since then, or up to an interval longer
    TimePoint stalledSince_{};  // nothing has been taken since then, or up to an interval longer
};

}  // namespace weft::http::detail
