// LocalStore: one object per type, created on first use. It holds per-carrier services such as the buffer pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft {

// Context: one thread (the carrier's, or that of an embedded loop's owner). get() allocates only on the first use of a
// type. The destructor and clear() destroy the services in reverse order of creation.
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
        static const std::size_t index = nextIndex_.fetch_add(1, std::memory_order_relaxed);  // an id: orders nothing
        return index;
    }
    template <class T>
    void create(std::size_t index) {
        if (index >= byType_.size()) byType_.resize(index + 1, nullptr);
        const NonSuspendingScope scope;  // another fiber would find the store without the service
        Owned made(new T(), [](void* service) { delete static_cast<T*>(service); });
        owned_.push_back(std::move(made));
        byType_[index] = owned_.back().get();
    }

    static inline std::atomic<std::size_t> nextIndex_{0};
    std::vector<void*> byType_;
    std::vector<Owned> owned_;
};

}  // namespace weft
