// IdleSet: the members of a steal cluster that sleep and may be called for help. docs/explanation/protocol.md
// section 16.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// One bit per member; each word has a cache line of its own. Each member sets and clears its own bit; any thread reads.
template <class P>
class BasicIdleSet {
  public:
    // Throws std::bad_alloc.
    explicit BasicIdleSet(unsigned members)
        : size_((members + wordBits - 1) / wordBits), words_(std::make_unique<Word[]>(size_)) {}

    // The member calls it before it checks the other members' lanes again: the second half of [D4].
    void add(unsigned member) noexcept { word(member).fetch_or(bit(member), std::memory_order_seq_cst); }  // [D4]
    // relaxed: a caller that still finds the bit learns from the park state that the member is awake.
    void remove(unsigned member) noexcept { word(member).fetch_and(~bit(member), std::memory_order_relaxed); }

    // Call it after publishing work: true if any member is idle. [D4]
    bool any() const noexcept {
        for (unsigned i = 0; i < size_; ++i) {
            if (words_[i].bits.load(std::memory_order_seq_cst) != 0) return true;  // [D4]
        }
        return false;
    }

    // Call it after any(). Calls accepts(member) for each idle member, in a circle that begins after `from`, until one
    // call returns true. Returns whether one did.
    template <class Accepts>
    bool offer(unsigned from, Accepts accepts) const noexcept {
        const unsigned first = from / wordBits;
        const unsigned behind = from % wordBits;  // the bits above it come first, the others last
        const std::uint64_t upTo = (bit(behind) << 1) - 1;
        if (offerSome(first, ~upTo, accepts)) return true;
        for (unsigned i = 1; i < size_; ++i) {
            if (offerSome((first + i) % size_, ~std::uint64_t{0}, accepts)) return true;
        }
        return offerSome(first, upTo, accepts);
    }

  private:
    static constexpr unsigned wordBits = 64;

    struct alignas(cacheLine) Word {
        typename P::template Atomic<std::uint64_t> bits{0};
    };

    static std::uint64_t bit(unsigned member) noexcept { return std::uint64_t{1} << member % wordBits; }
    auto& word(unsigned member) noexcept { return words_[member / wordBits].bits; }

    template <class Accepts>
    bool offerSome(unsigned index, std::uint64_t mask, Accepts& accepts) const noexcept {
        // relaxed: not older than the value that any() read; a member that went idle since then has checked the lanes
        // itself.
        std::uint64_t idle = words_[index].bits.load(std::memory_order_relaxed) & mask;
        for (; idle != 0; idle &= idle - 1) {
            if (accepts(index * wordBits + static_cast<unsigned>(std::countr_zero(idle)))) return true;
        }
        return false;
    }

    const unsigned size_;
    const std::unique_ptr<Word[]> words_;
};

}  // namespace weft::detail
