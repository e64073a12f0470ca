#include "handshake_turns.hpp"

#include <new>

namespace weft::detail {

// ---- queues ----

void HandshakePlace::Queue::push(HandshakePlace& place) noexcept {
    place.previous_ = last;
    place.next_ = nullptr;
    (last != nullptr ? last->next_ : first) = &place;
    last = &place;
    place.waitsIn_ = this;
}

void HandshakePlace::Queue::remove(HandshakePlace& place) noexcept {
    (place.previous_ != nullptr ? place.previous_->next_ : first) = place.next_;
    (place.next_ != nullptr ? place.next_->previous_ : last) = place.previous_;
    place.waitsIn_ = nullptr;
}

// ---- a connection's calls ----

bool HandshakePlace::takeTurn(EventLoop& loop, unsigned most) noexcept {
    if (waitsForTurn()) return false;
    try {
        turns_ = &loop.local<HandshakeTurns>();
    } catch (const std::bad_alloc&) {
        return true;  // no memory to wait with
    }
    turns_->loop_ = &loop;
    return turns_->take(*this, most);
}

void HandshakePlace::endHandshake() noexcept {
    if (turns_ != nullptr) std::exchange(turns_, nullptr)->leave(*this);
}

bool HandshakeTurns::take(HandshakePlace& place, unsigned most) noexcept {
    if (most > 0 && !place.counts_) {
        if (running_ >= most) return begins_.push(place), false;
        place.counts_ = true;
        ++running_;
    }
    if (used_ || steps_.first != nullptr) return steps_.push(place), submit(), false;
    use();
    return true;
}

void HandshakeTurns::leave(HandshakePlace& place) noexcept {
    if (place.waitsIn_ != nullptr) place.waitsIn_->remove(place);
    if (!std::exchange(place.counts_, false)) return;
    --running_;
    HandshakePlace* const next = begins_.first;
    if (next == nullptr) return;
    begins_.remove(*next);
    next->counts_ = true;
    ++running_;
    steps_.push(*next);
    submit();
}

// ---- turns ----

void HandshakeTurns::use() noexcept {
    used_ = true;
    loop_->requestFlushPoint(*this);
}

// A turn ends with its flush point. A loop that has ended takes no task: its connections are closed.
void HandshakeTurns::submit() noexcept {
    if (!used_ && !submitted_) submitted_ = loop_->execute(*this);
}

void HandshakeTurns::onFlushPoint() noexcept {
    used_ = false;
    if (steps_.first != nullptr) submit();
}

void HandshakeTurns::run() noexcept {
    submitted_ = false;
    HandshakePlace* const next = steps_.first;
    if (next == nullptr || used_) return;  // used: the flush point submits again
    steps_.remove(*next);
    use();
    next->onTurn();
}

}  // namespace weft::detail
