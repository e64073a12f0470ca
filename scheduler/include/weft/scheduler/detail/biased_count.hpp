// BiasedCount: a count of which one thread, its owner, has a part to itself and changes it without a read-modify-write.
// Meanwhile the part that all share has a weight that keeps it from 0, so nobody takes for unused what the owner may
// still count. docs/protocol.md section 12.
#pragma once

#include <atomic>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// A thread is named by an address: `me` is the caller's, which may be null, and no two threads that run have the same.
// Only the sum of both parts counts: what was counted by one thread may be let go of by another, either part may be
// anything meanwhile.
template <class P>
class BasicBiasedCount {
  public:
    // Begins without an owner, in the shared part.
    explicit BasicBiasedCount(std::uint64_t count) noexcept : shared_(count) {}
    // Begins with its owner.
    BasicBiasedCount(std::uint64_t count, const void* owner) noexcept : owner_(owner), shared_(count + weight) {}

    // relaxed: the caller is counted already, or knows by other means that what it uses stays.
    void retain(const void* me) noexcept {
        if (isOwner(me)) {
            local_ = local_ + 1;
        } else {
            shared_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    // True when this was the last one. Never while there is an owner: the end of its part says whether any are left.
    [[nodiscard]] bool release(const void* me) noexcept {
        if (isOwner(me)) {
            local_ = local_ - 1;
            return false;
        }
        return shared_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // [B1]
    }

    // From here on the thread that is called `owner` counts by itself; with a name that no thread has, nobody does. By
    // the owner, while nobody can end what is counted: it holds one, say. relaxed: only the owner finds its name there,
    // and by its own store. [B3]
    void bias(const void* owner) noexcept {
        shared_.fetch_add(weight, std::memory_order_relaxed);
        owner_.store(owner, std::memory_order_relaxed);
    }
    // By the owner: adds its part to what all share, and from here on all count there. True when none are left; else
    // whoever lets go of the last one sees it, at once, so the caller must not touch the count again.
    [[nodiscard]] bool unbias() noexcept {
        owner_.store(this, std::memory_order_relaxed);  // as in bias()
        const std::uint64_t change = static_cast<std::uint64_t>(local_) - weight;
        local_ = 0;
        return shared_.fetch_add(change, std::memory_order_acq_rel) + change == 0;  // [B2] in one step
    }
    // By the owner.
    bool biased() const noexcept { return owner_.load(std::memory_order_relaxed) != this; }  // its own store
    // By the owner: none are left at this moment. [B4]
    bool none() const noexcept {
        const std::uint64_t rest = biased() ? weight - static_cast<std::uint64_t>(local_) : 0;
        return shared_.load(std::memory_order_acquire) == rest;
    }

  private:
    // 64 bits, and so much that no run of a process brings the shared part to 0 or to its end: what the owner takes and
    // others let go of, or the other way round, moves it by one each time.
    static constexpr std::uint64_t weight = std::uint64_t{1} << 62;

    // relaxed: any other thread finds a name that is not its own, whichever it finds. [B3]
    bool isOwner(const void* me) const noexcept { return owner_.load(std::memory_order_relaxed) == me; }

    typename P::template Atomic<const void*> owner_{this};  // `this`: nobody's name
    typename P::template Plain<std::int64_t> local_{0};     // the owner only
    typename P::template Atomic<std::uint64_t> shared_;
};

}  // namespace weft::detail
