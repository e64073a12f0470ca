// FiberList: the fibers of a carrier that have begun and not ended; how shutdown finds them and names stragglers.
#pragma once

#include <cstddef>

#include <weft/scheduler/detail/fiber.hpp>

namespace weft::detail {

// Intrusive, doubly linked; context: its carrier.
class FiberList {
  public:
    void add(Fiber& fiber) noexcept {
        fiber.previousLive = nullptr;
        fiber.nextLive = first_;
        if (first_) first_->previousLive = &fiber;
        first_ = &fiber;
        ++size_;
    }
    void remove(Fiber& fiber) noexcept {
        (fiber.previousLive ? fiber.previousLive->nextLive : first_) = fiber.nextLive;
        if (fiber.nextLive) fiber.nextLive->previousLive = fiber.previousLive;
        --size_;
    }
    template <class Visit>
    void forEach(Visit visit) {
        for (Fiber* fiber = first_; fiber != nullptr;) {
            Fiber* next = fiber->nextLive;
            visit(*fiber);
            fiber = next;
        }
    }
    bool empty() const noexcept { return first_ == nullptr; }
    std::size_t size() const noexcept { return size_; }

  private:
    Fiber* first_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace weft::detail
