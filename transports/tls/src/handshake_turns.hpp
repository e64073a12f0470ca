// HandshakeTurns: one step of a TLS handshake in each turn of a carrier, because a step takes as long as hundreds of
// requests; and how many handshakes there are at the same time.
#pragma once

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/loop_task.hpp>

#include "linked_queue.hpp"

namespace weft::detail {

class HandshakeTurns;

// One connection among the handshakes of its carrier. Context: the carrier.
class HandshakePlace {
  public:
    HandshakePlace(const HandshakePlace&) = delete;
    HandshakePlace& operator=(const HandshakePlace&) = delete;

    // True: make one step now. False: onTurn() will be called for it. `most`: servers' handshakes at the same time on
    // the carrier, of which this is one; 0: it does not count. Context: in `loop`, which has not ended.
    bool takeTurn(EventLoop& loop, unsigned most) noexcept;
    bool waitsForTurn() const noexcept { return waits_; }
    // The handshake is over. Idempotent; a further takeTurn() begins another one.
    void endHandshake() noexcept;

  protected:
    HandshakePlace() = default;
    virtual ~HandshakePlace() { endHandshake(); }

  private:
    friend class HandshakeTurns;
    friend class LinkedQueue<HandshakePlace>;

    // One step may be made, now; or the loop has ended. Context: the carrier, where nothing may block.
    virtual void onTurn() noexcept = 0;

    HandshakeTurns* turns_ = nullptr;  // null: no handshake
    LinkedQueue<HandshakePlace>::Link link;
    unsigned most_ = 0;
    bool counts_ = false;
    bool waits_ = false;
};

// One per carrier: EventLoop::local<HandshakeTurns>(). First come, first served. A place that finds the limit reached
// waits for the end of another handshake, and then for a turn like all others.
class HandshakeTurns final : private FlushPointListener, private LoopTask {
  public:
    HandshakeTurns() = default;
    ~HandshakeTurns() override;

  private:
    friend class HandshakePlace;

    void serve(EventLoop& loop) noexcept;
    bool take(HandshakePlace& place, unsigned most) noexcept;
    void leave(HandshakePlace& place) noexcept;
    void admit() noexcept;
    void use() noexcept;
    void submit() noexcept;
    bool loopLives() const noexcept;
    void releaseAll() noexcept;
    static void wait(LinkedQueue<HandshakePlace>& queue, HandshakePlace& place) noexcept;
    void grant(HandshakePlace& place) noexcept;
    void onFlushPoint() noexcept override;
    void run() noexcept override;
    void abandon() noexcept override { submitted_ = false; }

    EventLoop* loop_ = nullptr;   // may have ended
    Carrier* carrier_ = nullptr;  // of the loop; null: an embedded one
    LinkedQueue<HandshakePlace> active_;
    LinkedQueue<HandshakePlace> steps_;   // wait for a turn
    LinkedQueue<HandshakePlace> begins_;  // have found the limit reached
    unsigned running_ = 0;
    bool used_ = false;       // the step of this turn
    bool submitted_ = false;  // run() will be called
};

}  // namespace weft::detail
