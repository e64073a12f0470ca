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
    owner.previous_ = nullptr;
    owner.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &owner;
    first_ = &owner;
    if (!timer_ || timer_.done()) visitLater(loop);
}

void IdleBuffers::remove(BufferOwner& owner) noexcept {
    (owner.previous_ != nullptr ? owner.previous_->next_ : first_) = owner.next_;
    if (owner.next_ != nullptr) owner.next_->previous_ = owner.previous_;
    owner.owners_ = nullptr;
    if (first_ == nullptr && timer_) timer_.cancel();
}

// Without memory for the timer, or on a loop that is ending, the buffers stay until the next connection joins.
void IdleBuffers::visitLater(EventLoop& loop) noexcept {
    try {
        timer_ = loop.schedule(
            [this, &loop] {
                timer_ = {};
                visit();
                if (first_ != nullptr) visitLater(loop);
            },
            period);
    } catch (const std::exception&) {
        timer_ = {};
    }
}

void IdleBuffers::visit() noexcept {
    for (BufferOwner* each = first_; each != nullptr;) {
        BufferOwner& owner = *std::exchange(each, each->next_);
        if (std::exchange(owner.isUsed_, false)) continue;
        owner.releaseBuffers();
        remove(owner);
    }
}

}  // namespace weft::detail
