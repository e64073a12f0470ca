#include "idle_buffers.hpp"

#include <exception>
#include <new>
#include <utility>

namespace weft::detail {

void BufferOwner::join(EventLoop& loop) noexcept {
    try {
        loop.local<IdleBuffers>().add(*this, loop);
    } catch (const std::bad_alloc&) {  // the next call joins
    }
}

void BufferOwner::forget() noexcept {
    if (owners_ != nullptr) owners_->remove(*this);
}

void IdleBuffers::add(BufferOwner& owner, EventLoop& loop) noexcept {
    owner.owners_ = this;
    queues_[visited_].push(owner);
    if (!timer_ || timer_.done()) beginLater(loop);
}

void IdleBuffers::remove(BufferOwner& owner) noexcept {
    LinkedQueue<BufferOwner>::remove(owner);
    owner.owners_ = nullptr;
    if (empty() && timer_) timer_.cancel();
}

// Without memory for the timer, or on a loop that is ending, the buffers stay until the next connection joins.
void IdleBuffers::beginLater(EventLoop& loop) noexcept {
    try {
        timer_ = loop.schedule(
            [this, &loop] {
                visited_ = 1 - visited_;
                visitSome(loop);
            },
            period);
    } catch (const std::exception&) {
        timer_ = {};
    }
}

// A part of a round; the rest follows in another task.
void IdleBuffers::visitSome(EventLoop& loop) noexcept {
    for (unsigned visits = 0; visits < visitsPerTask; ++visits) {
        BufferOwner* const owner = queues_[1 - visited_].first();
        if (owner == nullptr) {
            if (!empty()) beginLater(loop);
            return;
        }
        if (std::exchange(owner->isUsed_, false)) {
            queues_[visited_].take(*owner);
        } else {
            owner->releaseBuffers();
            remove(*owner);
        }
    }
    try {
        timer_ = loop.schedule([this, &loop] { visitSome(loop); }, Duration::zero());
    } catch (const std::exception&) {
        timer_ = {};
    }
}

// Connections may outlive the carrier's services.
IdleBuffers::~IdleBuffers() {
    for (LinkedQueue<BufferOwner>& each : queues_) {
        while (each.first() != nullptr) remove(*each.first());
    }
}

}  // namespace weft::detail
