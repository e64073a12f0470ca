// BiasedCount: a reference count with an owner thread that counts in a plain integer of its own, without RMWs. Other
// threads count in an atomic, the shared part. While there is an owner, a large weight in the shared part keeps it
// above 0, so no other thread mistakes the object for unused. docs/explanation/protocol.md section 12.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// A thread is identified by an address that no other running thread has. `me` is the caller's id, or null if it must
// count in the shared part. Only the sum of both parts is meaningful: one thread may retain and another release, so the
// owner's part may be negative.
template <class P>
class BasicBiasedCount {
  public:
    // Starts without an owner; `count` is in the shared part.
    explicit BasicBiasedCount(std::uint64_t count) noexcept : shared_(count) {}
    // Starts with an owner.
    BasicBiasedCount(std::uint64_t count, const void* owner) noexcept : owner_(owner), shared_(count + weight) {}

    // relaxed: the caller holds a reference already, or otherwise knows that the object stays alive.
    void retain(const void* me) noexcept {
        if (isOwner(me)) {
            local_ = local_ + 1;
        } else {
            shared_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    // As retain(), for a caller that holds no reference but prevents the end of the object, by a lock that the thread
    // with the last reference takes first. False if that has been released. relaxed: the lock orders the object's end.
    // [B5]
    [[nodiscard]] bool retainUnlessZero() noexcept {
        std::uint64_t count = shared_.load(std::memory_order_relaxed);
        while (count != 0) {
            if (shared_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed, std::memory_order_relaxed))
                return true;
        }
        return false;
    }
    // True if this released the last reference. Never true while there is an owner: unbias() then reports the last one.
    [[nodiscard]] bool release(const void* me) noexcept {
        if (isOwner(me)) {
            local_ = local_ - 1;
            return false;
        }
        return shared_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // [B1]
    }

    // Makes the thread with id `owner` the owner. With an id that no thread has (an embedded loop's), every thread
    // still counts in the shared part, and the weight keeps that above 0 until unbias(). Context: the owner, while the
    // count cannot drop to 0, for instance because the owner holds a reference. relaxed: only the owner finds its own
    // id, by its own store. [B3]
    void bias(const void* owner) noexcept {
        shared_.fetch_add(weight, std::memory_order_relaxed);
        owner_.store(owner, std::memory_order_relaxed);
    }
    // Adds the owner's part to the shared part; from then on all threads count there. True if the count is 0. If false,
    // the release of the last reference may come at any time, so the caller must not touch this object again unless it
    // holds a reference. Context: the owner.
    [[nodiscard]] bool unbias() noexcept {
        owner_.store(this, std::memory_order_relaxed);  // as in bias()
        const std::uint64_t change = static_cast<std::uint64_t>(local_) - weight;
        local_ = 0;
        // One RMW, because an intermediate value could be 0.
        return shared_.fetch_add(change, std::memory_order_acq_rel) + change == 0;  // [B2]
    }
    // Context: the owner.
    bool biased() const noexcept { return owner_.load(std::memory_order_relaxed) != this; }  // its own store
    // True if the count is 0 at this moment. Context: the owner. [B4]
    bool none() const noexcept {
        const std::uint64_t rest = biased() ? weight - static_cast<std::uint64_t>(local_) : 0;
        return shared_.load(std::memory_order_acquire) == rest;
    }

  private:
    // So large that the shared part neither reaches 0 nor overflows: each count that the owner retains and another
    // thread releases, or the other way round, moves it by only one.
    static constexpr std::uint64_t weight = std::uint64_t{1} << 62;

    // relaxed: every other thread finds an id that is not its own, however old the value is. [B3]
    bool isOwner(const void* me) const noexcept { return owner_.load(std::memory_order_relaxed) == me; }

    typename P::template Atomic<const void*> owner_{this};  // `this`: no owner
    typename P::template Plain<std::int64_t> local_{0};     // the owner's part
    typename P::template Atomic<std::uint64_t> shared_;
};

}  // namespace weft::detail
