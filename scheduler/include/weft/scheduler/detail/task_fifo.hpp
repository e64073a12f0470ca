// TaskFifo: the tasks that an event loop has taken over, in order.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace weft::detail {

// A growing ring: push at the back, pop at the front, no allocation once it has reached its size. One thread.
template <class T>
class TaskFifo {
  public:
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }

    // Makes the next push() one that cannot throw.
    void reserveOne() {
        if (count_ == capacity_) grow();
    }
    void push(T task) {
        reserveOne();
        slots_[(first_ + count_) & (capacity_ - 1)] = std::move(task);
        ++count_;
    }
    T pop() {
        T task = std::move(slots_[first_]);
        first_ = (first_ + 1) & (capacity_ - 1);
        --count_;
        return task;
    }

  private:
    void grow() {
        const std::size_t larger = capacity_ ? capacity_ * 2 : 64;
        auto slots = std::make_unique<T[]>(larger);
        for (std::size_t i = 0; i < count_; ++i) slots[i] = std::move(slots_[(first_ + i) & (capacity_ - 1)]);
        slots_ = std::move(slots);
        capacity_ = larger;
        first_ = 0;
    }

    std::unique_ptr<T[]> slots_;
    std::size_t capacity_ = 0;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace weft::detail
