// Ring: a FIFO in an array whose capacity is a power of two. The capacity doubles when full and never shrinks, so that
// there is no allocation in steady state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include <weft/scheduler/assert.hpp>

namespace weft::detail {

// T is default-constructible and movable without throwing. Unused slots hold a default-constructed T. At most 2^31
// values. Context: one thread. push() allocates when it grows; throws std::bad_alloc, and std::length_error when full,
// and then nothing has changed.
template <class T>
class Ring {
  public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    T& front() noexcept { return slots_[first_]; }
    const T& front() const noexcept { return slots_[first_]; }
    T& back() noexcept { return slots_[(first_ + size_ - 1) & mask_]; }
    T& operator[](std::size_t index) noexcept { return slots_[(first_ + index) & mask_]; }
    const T& operator[](std::size_t index) const noexcept { return slots_[(first_ + index) & mask_]; }

    void push(T&& value) { renew(push(), std::move(value)); }
    // Adds a default value, for the caller to fill in.
    T& push() {
        if (size_ == capacity()) [[unlikely]]
            grow();
        return slots_[(first_ + size_++) & mask_];
    }
    T pop() noexcept {
        WEFT_DEBUG_ASSERT(size_ > 0, "pop() of an empty ring");
        T value(std::move(slots_[first_]));
        renew(slots_[first_]);
        first_ = (first_ + 1) & mask_;
        --size_;
        return value;
    }
    [[gnu::always_inline]] void drop() noexcept {
        WEFT_DEBUG_ASSERT(size_ > 0, "drop() of an empty ring");
        renew(slots_[first_]);
        first_ = (first_ + 1) & mask_;
        --size_;
    }
    // Makes room for `more` values. Throws as push().
    void reserve(std::size_t more) {
        while (capacity() < size_ + more) grow();
    }
    // Drops everything from index `size` on.
    void truncate(std::size_t size) noexcept {
        while (size_ > size) slots_[(first_ + --size_) & mask_] = T();
    }
    void insertAt(std::size_t index, T&& value) {
        push(std::move(value));
        for (std::size_t i = size_ - 1; i > index; --i) std::swap((*this)[i], (*this)[i - 1]);
    }
    void removeAt(std::size_t index) noexcept {
        for (std::size_t i = index; i + 1 < size_; ++i) (*this)[i] = std::move((*this)[i + 1]);
        truncate(size_ - 1);
    }
    void clear() noexcept {
        while (!empty()) pop();
    }

  private:
    static constexpr std::size_t firstCapacity = 8;
    static constexpr std::size_t mostCapacity = std::size_t{1} << 31;

    // Replaces the value of the slot. Cheaper than a move assignment, which must allow for self-assignment.
    template <class... Value>
    static void renew(T& slot, Value&&... value) noexcept {
        std::destroy_at(&slot);
        std::construct_at(&slot, std::forward<Value>(value)...);
    }

    std::size_t capacity() const noexcept { return slots_ ? std::size_t{mask_} + 1 : 0; }
    void grow() {
        const std::size_t larger = slots_ ? capacity() * 2 : firstCapacity;
        if (larger > mostCapacity) throw std::length_error("a Ring is full");
        auto slots = std::make_unique<T[]>(larger);
        for (std::size_t i = 0; i < size_; ++i) slots[i] = std::move((*this)[i]);
        slots_ = std::move(slots);
        mask_ = static_cast<std::uint32_t>(larger - 1);
        first_ = 0;
    }

    std::unique_ptr<T[]> slots_;
    std::uint32_t mask_ = 0;
    std::uint32_t first_ = 0;
    std::uint32_t size_ = 0;
};

}  // namespace weft::detail
