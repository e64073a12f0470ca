#include "handshake_turns.hpp"

#include <new>
#include <utility>

namespace weft::detail {

// ---- a connection's calls ----

bool HandshakePlace::takeTurn(EventLoop& loop, unsigned most) noexcept {
    if (waits_) return false;
    try {
        turns_ = &loop.local<HandshakeTurns>();
    } catch (const std::bad_alloc&) {
        return true;  // no memory to wait with
    }
    turns_->serve(loop);
    return turns_->take(*this, most);
}

void HandshakePlace::endHandshake() noexcept {
    if (turns_ != nullptr) std::exchange(turns_, nullptr)->leave(*this);
}

bool HandshakeTurns::take(HandshakePlace& place, unsigned most) noexcept {
    place.most_ = most;
    if (most > 0 && !place.counts_) {
        if (running_ >= most) return wait(begins_, place), false;
        place.counts_ = true;
        ++running_;
    }
    if (used_ || steps_.first() != nullptr) return wait(steps_, place), submit(), false;
    active_.take(place);
    use();
    return true;
}

void HandshakeTurns::leave(HandshakePlace& place) noexcept {
    LinkedQueue<HandshakePlace>::remove(place);
    place.waits_ = false;
    if (std::exchange(place.counts_, false)) --running_;
    admit();
    submit();
}

// In their order, those whose own limit allows it: contexts may have different ones.
void HandshakeTurns::admit() noexcept {
    for (HandshakePlace* next = begins_.first(); next != nullptr;) {
        HandshakePlace& place = *std::exchange(next, next->link.next);
        if (running_ >= place.most_) continue;
        place.counts_ = true;
        ++running_;
        wait(steps_, place);
    }
}

void HandshakeTurns::wait(LinkedQueue<HandshakePlace>& queue, HandshakePlace& place) noexcept {
    queue.take(place);
    place.waits_ = true;
}

void HandshakeTurns::grant(HandshakePlace& place) noexcept {
    active_.take(place);
    place.waits_ = false;
    place.onTurn();
}

// ---- turns ----

void HandshakeTurns::use() noexcept {
    used_ = true;
    loop_->requestFlushPoint(*this);
}

// A turn ends with its flush point.
void HandshakeTurns::submit() noexcept {
    if (steps_.first() == nullptr || used_ || submitted_) return;
    submitted_ = loopLives() && loop_->execute(*this);
    if (!submitted_) releaseAll();
}

void HandshakeTurns::onFlushPoint() noexcept {
    used_ = false;
    submit();
}

void HandshakeTurns::run() noexcept {
    submitted_ = false;
    if (steps_.first() == nullptr || used_) return;  // used: the flush point submits again
    use();
    grant(*steps_.first());
}

// ---- the end of a loop, and another one on the carrier ----

void HandshakeTurns::serve(EventLoop& loop) noexcept {
    if (loop_ == &loop) return;
    releaseAll();
    loop_ = &loop;
    carrier_ = loop.carrier();
    used_ = submitted_ = false;
}

bool HandshakeTurns::loopLives() const noexcept {
    return carrier_ == nullptr || EventLoop::of(*carrier_) == loop_;
}

// There will be no more turns. The places that wait belong to connections that are closed.
void HandshakeTurns::releaseAll() noexcept {
    while (steps_.first() != nullptr || begins_.first() != nullptr)
        grant(steps_.first() != nullptr ? *steps_.first() : *begins_.first());
}

HandshakeTurns::~HandshakeTurns() {
    for (LinkedQueue<HandshakePlace>* each : {&active_, &steps_, &begins_}) {
        while (HandshakePlace* const place = each->first()) {
            LinkedQueue<HandshakePlace>::remove(*place);
            place->turns_ = nullptr;
        }
    }
}

}  // namespace weft::detail
