// HandlerSlot: memory for one Asio operation of the service itself, so that starting it cannot fail for lack of memory.
#pragma once

#include <cstddef>
#include <new>

#include <weft/scheduler/assert.hpp>

namespace weft::asio_io::detail {

// For one operation at a time. Must outlive that operation, and the io_context too if the operation may still be
// pending at its end.
class HandlerSlot {
  public:
    HandlerSlot() = default;
    HandlerSlot(const HandlerSlot&) = delete;
    HandlerSlot& operator=(const HandlerSlot&) = delete;

    // Asio rebinds it to its own operation types.
    template <class T>
    class Allocator {
      public:
        using value_type = T;
        explicit Allocator(HandlerSlot& slot) noexcept : slot_(&slot) {}
        template <class U>
        Allocator(const Allocator<U>& other) noexcept : slot_(other.slot_) {}

        T* allocate(std::size_t count) noexcept {
            WEFT_ASSERT(count * sizeof(T) <= size, "an operation of Asio is larger than its slot");
            return reinterpret_cast<T*>(slot_->bytes_);
        }
        void deallocate(T*, std::size_t) noexcept {}
        template <class U>
        bool operator==(const Allocator<U>& other) const noexcept {
            return slot_ == other.slot_;
        }

      private:
        template <class U>
        friend class Allocator;
        HandlerSlot* slot_;
    };

  private:
    static constexpr std::size_t size = 256;
    alignas(std::max_align_t) std::byte bytes_[size];
};

}  // namespace weft::asio_io::detail
