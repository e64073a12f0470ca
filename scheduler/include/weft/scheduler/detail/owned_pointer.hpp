// OwnedPointer: a pointer that one thread writes and that any thread may compare.
#pragma once

#include <atomic>

namespace weft::detail {

// Reads and writes are plain moves. relaxed: the writer dereferences its own value; every other thread only compares.
template <class T>
class OwnedPointer {
  public:
    OwnedPointer& operator=(T* value) noexcept {
        value_.store(value, std::memory_order_relaxed);
        return *this;
    }
    operator T*() const noexcept { return value_.load(std::memory_order_relaxed); }
    T* operator->() const noexcept { return *this; }

  private:
    std::atomic<T*> value_{nullptr};
};

}  // namespace weft::detail
