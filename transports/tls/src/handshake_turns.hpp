// HandshakeTurns: one step of a TLS handshake in each turn of a carrier, because a step takes as long as hundreds of
// requests; and how many handshakes there are at the same time.
#pragma once

#include <utility>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/loop_task.hpp>

namespace weft::detail {

class HandshakeTurns;

// One connection among the handshakes of its carrier. Context: the carrier.
class HandshakePlace {
  public:
    HandshakePlace(const HandshakePlace&) = delete;
    HandshakePlace& operator=(const HandshakePlace&) = delete;

    // True: make one step now. False: onTurn() will be called for it. `most`: servers' handshakes at the same time on
    // the carrier, of which this is one; 0: it does not count. Context: in `loop`.
    bool takeTurn(EventLoop& loop, unsigned most) noexcept;
    bool waitsForTurn() const noexcept { return waitsIn_ != nullptr; }
    // The handshake is over. Idempotent; further calls of takeTurn() begin another one.
    void endHandshake() noexcept;

  protected:
    HandshakePlace() = default;
    virtual ~HandshakePlace() { endHandshake(); }

  private:
    friend class HandshakeTurns;
    struct Queue {
        HandshakePlace* first = nullptr;
        HandshakePlace* last = nullptr;

        void push(HandshakePlace& place) noexcept;
        void remove(HandshakePlace& place) noexcept;
    };

    // One step may be made, now. Context: the loop's dispatch.
    virtual void onTurn() noexcept = 0;

    HandshakeTurns* turns_ = nullptr;  // null: no handshake
    Queue* waitsIn_ = nullptr;
    HandshakePlace* previous_ = nullptr;
    HandshakePlace* next_ = nullptr;
    bool counts_ = false;
};

// One per carrier: EventLoop::local<HandshakeTurns>(). First come, first served. Whoever finds the limit reached waits
// for the end of another handshake, and then for a turn like all others.
class HandshakeTurns final : private FlushPointListener, private LoopTask {
  public:
    HandshakeTurns() = default;

  private:
    friend class HandshakePlace;

    bool take(HandshakePlace& place, unsigned most) noexcept;
    void leave(HandshakePlace& place) noexcept;
    void use() noexcept;
    void submit() noexcept;
    void onFlushPoint() noexcept override;
    void run() noexcept override;
    void abandon() noexcept override { submitted_ = false; }

    EventLoop* loop_ = nullptr;
    HandshakePlace::Queue steps_;
    HandshakePlace::Queue begins_;  // the limit was reached
    unsigned running_ = 0;
    bool used_ = false;       // the step of this turn
    bool submitted_ = false;  // run() will be called
};

}  // namespace weft::detail
