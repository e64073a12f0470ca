#include <weft/scheduler/detail/striped_lock.hpp>

#include <array>
#include <cstdint>

namespace weft::detail {

namespace {

struct alignas(cacheLine) Stripe {
    std::mutex mutex;
};

constexpr std::size_t stripes = 256;  // stripeOf() takes eight bits
constinit std::array<Stripe, stripes> allStripes{};

}  // namespace

// Multiplicative hashing: the upper bits of the product depend on all bits of the address.
std::mutex& StripedLock::stripeOf(const void* address) noexcept {
    constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
    const std::uint64_t product = reinterpret_cast<std::uintptr_t>(address) * multiplier;
    return allStripes[product >> 56].mutex;
}

}  // namespace weft::detail
