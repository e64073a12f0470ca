// OneStorage, FixedStorage, GrowingStorage: the values of a queue of weft::sync, first in, first out. Not thread-safe:
// the queue's lock guards them.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace weft::detail {

// A place for one value, whose life its owner controls.
template <class T>
union Place {
    Place() noexcept {}
    ~Place() {}
    T value;
};

template <class T>
T takeFrom(Place<T>& place) noexcept {
    T value = std::move(place.value);
    place.value.~T();
    return value;
}

// The reserve of a storage that never allocates.
struct NoReserve {
    explicit operator bool() const noexcept { return false; }
};

// One place, inside the queue.
template <class T>
class OneStorage {
  public:
    using Reserve = NoReserve;

    OneStorage() = default;
    ~OneStorage() {
        if (full_) place_.value.~T();
    }
    OneStorage(const OneStorage&) = delete;
    OneStorage& operator=(const OneStorage&) = delete;

    std::size_t size() const noexcept { return full_ ? 1 : 0; }
    bool empty() const noexcept { return !full_; }
    bool full() const noexcept { return full_; }
    static bool needsReserve() noexcept { return false; }
    static Reserve allocate() noexcept { return {}; }

    void push(T&& value, Reserve&) noexcept {
        ::new (static_cast<void*>(&place_.value)) T(std::move(value));
        full_ = true;
    }
    T pop(Reserve&) noexcept {
        full_ = false;
        return takeFrom(place_);
    }

  private:
    Place<T> place_;
    bool full_ = false;
};

// A ring of `capacity` places, allocated once.
template <class T>
class FixedStorage {
  public:
    using Reserve = NoReserve;

    explicit FixedStorage(std::size_t capacity) : places_(new Place<T>[capacity]), capacity_(capacity) {}
    ~FixedStorage() {
        Reserve none;
        while (!empty()) pop(none);
    }
    FixedStorage(const FixedStorage&) = delete;
    FixedStorage& operator=(const FixedStorage&) = delete;

    std::size_t capacity() const noexcept { return capacity_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    bool full() const noexcept { return size_ == capacity_; }
    static bool needsReserve() noexcept { return false; }
    static Reserve allocate() noexcept { return {}; }

    void push(T&& value, Reserve&) noexcept {
        ::new (static_cast<void*>(&places_[tail_].value)) T(std::move(value));
        tail_ = next(tail_);
        ++size_;
    }
    T pop(Reserve&) noexcept {
        Place<T>& place = places_[head_];
        head_ = next(head_);
        --size_;
        return takeFrom(place);
    }

  private:
    std::size_t next(std::size_t index) const noexcept { return index + 1 == capacity_ ? 0 : index + 1; }

    std::unique_ptr<Place<T>[]> places_;
    const std::size_t capacity_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
    std::size_t size_ = 0;
};

// A list of blocks. Keeps one empty block, so that a queue whose length varies little does not allocate.
template <class T>
class GrowingStorage {
    static constexpr std::size_t placesPerBlock = 32;
    struct Block {
        Place<T> places[placesPerBlock];
        std::unique_ptr<Block> next;
    };

  public:
    using Reserve = std::unique_ptr<Block>;

    GrowingStorage() = default;
    ~GrowingStorage() {
        Reserve freed;
        while (!empty()) pop(freed);
        while (first_) first_ = std::move(first_->next);
    }
    GrowingStorage(const GrowingStorage&) = delete;
    GrowingStorage& operator=(const GrowingStorage&) = delete;

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    static bool full() noexcept { return false; }
    bool needsReserve() const noexcept { return !spare_ && (last_ == nullptr || tail_ == placesPerBlock); }
    static Reserve allocate() { return Reserve(new Block); }

    void push(T&& value, Reserve& reserve) noexcept {
        if (last_ == nullptr || tail_ == placesPerBlock) append(spare_ ? std::move(spare_) : std::move(reserve));
        ::new (static_cast<void*>(&last_->places[tail_++].value)) T(std::move(value));
        ++size_;
    }
    T pop(Reserve& freed) noexcept {
        T value = takeFrom(first_->places[head_++]);
        --size_;
        if (head_ == placesPerBlock) removeFirst(freed);
        return value;
    }

  private:
    void append(Reserve block) noexcept {
        Block* const added = block.get();
        (last_ != nullptr ? last_->next : first_) = std::move(block);
        last_ = added;
        tail_ = 0;
    }
    void removeFirst(Reserve& freed) noexcept {
        Reserve emptied = std::move(first_);
        first_ = std::move(emptied->next);
        if (!first_) last_ = nullptr;
        head_ = 0;
        (spare_ ? freed : spare_) = std::move(emptied);
    }

    std::unique_ptr<Block> first_;
    Block* last_ = nullptr;
    std::unique_ptr<Block> spare_;
    std::size_t head_ = 0;  // in the first block
    std::size_t tail_ = 0;  // in the last block
    std::size_t size_ = 0;
};

}  // namespace weft::detail
