// AttributeMap: the values that one channel carries, by the address of their AttributeKey. Context: the channel's loop.
#pragma once

#include <memory>
#include <vector>

namespace weft::detail {

// A handful of values: the search is linear. A pointer while there is none, since every channel has a map. References
// to values stay valid until the map is destroyed.
class AttributeMap {
  public:
    // Null when there is none.
    void* find(const void* key) const noexcept {
        if (!entries_) return nullptr;
        for (const Entry& entry : *entries_) {
            if (entry.key == key) return entry.value.get();
        }
        return nullptr;
    }
    // Throws std::bad_alloc, and what T's constructor throws; then nothing has changed.
    template <class T>
    T& add(const void* key) {
        auto value = std::make_unique<T>();
        if (!entries_) entries_ = std::make_unique<std::vector<Entry>>();
        entries_->push_back({key, Value(nullptr, [](void* owner) noexcept { delete static_cast<T*>(owner); })});
        entries_->back().value.reset(value.release());
        return *static_cast<T*>(entries_->back().value.get());
    }

  private:
    using Value = std::unique_ptr<void, void (*)(void*) noexcept>;
    struct Entry {
        const void* key;
        Value value;
    };
    std::unique_ptr<std::vector<Entry>> entries_;
};

}  // namespace weft::detail
