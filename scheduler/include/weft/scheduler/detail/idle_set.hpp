// IdleSet: which members of a steal cluster sleep and may be called for help. docs/protocol.md section 16.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// A bit for each member, in words on lines of their own. Members come and go by themselves, anybody looks.
template <class P>
class BasicIdleSet {
  public:
    // Throws std::bad_alloc.
    explicit BasicIdleSet(unsigned members)
        : size_((members + wordBits - 1) / wordBits), words_(std::make_unique<Word[]>(size_)) {}

    // Before the member looks for others' work again: the second half of [D4].
    void add(unsigned member) noexcept { word(member).fetch_or(bit(member), std::memory_order_seq_cst); }  // [D4]
    // relaxed: who still finds it is told by its park state that it is awake.
    void remove(unsigned member) noexcept { word(member).fetch_and(~bit(member), std::memory_order_relaxed); }

    // After work was published: whether there is anybody. [D4]
    bool any() const noexcept {
        for (unsigned i = 0; i < size_; ++i) {
            if (words_[i].bits.load(std::memory_order_seq_cst) != 0) return true;  // [D4]
        }
        return false;
    }

    // After any(): calls accepts(member) for those who are in it, round from the one behind `from`, until it returns true; then true.
    template <class Accepts>
    bool offer(unsigned from, Accepts accepts) const noexcept {
        const unsigned first = from / wordBits;
        const unsigned behind = from % wordBits;  // the bits above it come first, those up to it last
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
        // relaxed: not older than what any() has seen, and who has come since then has looked.
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
