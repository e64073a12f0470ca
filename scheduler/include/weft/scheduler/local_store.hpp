// LocalStore: one object per type, made on first use; the home of per-carrier services such as the buffer pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace weft {

// Context: one thread (the carrier's, or an embedded loop's owner). get() allocates on first use of a type only.
// Services are destroyed in reverse order of creation, on the carrier's thread.
class LocalStore {
  public:
    LocalStore() = default;
    LocalStore(const LocalStore&) = delete;
    LocalStore& operator=(const LocalStore&) = delete;
    ~LocalStore() { clear(); }

    template <class T>
    T& get() {
        const std::size_t index = indexOf<T>();
        if (index >= byType_.size() || !byType_[index]) create<T>(index);
        return *static_cast<T*>(byType_[index]);
    }

    void clear() noexcept {
        while (!owned_.empty()) owned_.pop_back();
        byType_.clear();
    }

  private:
    using Owned = std::unique_ptr<void, void (*)(void*)>;

    template <class T>
    static std::size_t indexOf() noexcept {
        static const std::size_t index = nextIndex_.fetch_add(1, std::memory_order_relaxed);  // a name, orders nothing
        return index;
    }
    template <class T>
    void create(std::size_t index) {
        if (index >= byType_.size()) byType_.resize(index + 1, nullptr);
        owned_.emplace_back(new T(), [](void* service) { delete static_cast<T*>(service); });
        byType_[index] = owned_.back().get();
    }

    static inline std::atomic<std::size_t> nextIndex_{0};
    std::vector<void*> byType_;
    std::vector<Owned> owned_;
};

}  // namespace weft
