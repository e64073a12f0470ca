// Carrier: how long a new fiber would wait, for the placement of work that may start on any carrier.
#include <weft/scheduler/carrier.hpp>

#include <weft/scheduler/carrier_group.hpp>

#include "stuck_carriers.hpp"

namespace weft {

std::size_t Carrier::load() const noexcept {
    const std::uint64_t enlisted = live_.enlisted();
    const std::uint64_t noted = counters_.enlistedThen.get();
    const std::size_t submitted = enlisted > noted ? static_cast<std::size_t>(enlisted - noted) : 0;
    return queuedFibers() + submitted + (isInLongSlice() ? aLongSlice : 0);
}

// A carrier does not note when its slices begin, so the callers compare what they see with what earlier calls have
// seen.
bool Carrier::isInLongSlice() const noexcept {
    constexpr std::uint64_t asleep = ~std::uint64_t{0};
    const detail::StuckCarriers::State state = detail::StuckCarriers::stateOf(*this);
    const std::uint64_t progress = state.asleep ? asleep : state.progress;
    const bool same = seenProgress_.load(std::memory_order_relaxed) == progress;
    if (progress == asleep) {
        if (!same) seenProgress_.store(asleep, std::memory_order_relaxed);
        return false;
    }
    const Duration now = Clock::steady().now().time_since_epoch();
    if (same) return now - Duration(seenSince_.load(std::memory_order_relaxed)) > group_.options().yieldBudget;
    seenSince_.store(now.count(), std::memory_order_relaxed);
    seenProgress_.store(progress, std::memory_order_relaxed);
    return false;
}

}  // namespace weft
