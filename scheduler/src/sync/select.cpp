#include <weft/scheduler/sync/select.hpp>

#include <algorithm>
#include <array>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/detail/lehmer_generator.hpp>

namespace weft::detail {

namespace {

// At random: a counter would give selects that follow each other on a thread, in one fiber or in several, the same
// start each time, and starve the other branches. Not inlined: after a wait the fiber may be on another thread.
[[gnu::noinline]] std::size_t startAtRandom(std::size_t count) {
    // A std::random_device could fail. Threads that begin at the same time may draw the same numbers.
    static thread_local LehmerGenerator random(
        static_cast<std::uint64_t>(Clock::steady().now().time_since_epoch().count()));
    return random() % count;
}

}  // namespace

std::size_t selectOne(std::span<SelectBranch* const> branches, SelectOrder order, ErrorCode& error) {
    std::array<Select::Branch*, Select::most> enabled;
    std::array<std::uint8_t, Select::most> indices;
    std::size_t count = 0;
    Deadline deadline = never;
    std::size_t otherwise = branches.size();
    for (std::size_t i = 0; i < branches.size(); ++i) {
        if (!branches[i]->enabled) continue;
        deadline = std::min(deadline, branches[i]->deadline);
        if (!branches[i]->waits) otherwise = i;
        indices[count] = static_cast<std::uint8_t>(i);
        enabled[count++] = branches[i];
    }
    WEFT_ASSERT(count > 0, "sync::select: when() has disabled every branch, so nothing could end the wait");
    const bool waits = otherwise == branches.size();
    std::size_t chosen = 0;
    for (;;) {
        const std::size_t start = order == SelectOrder::atRandom ? startAtRandom(count) : 0;
        error = Select::wait({enabled.data(), count}, start, waits, deadline, chosen, "sync::select");
        if (error == timedOut()) continue;  // now the branch with the deadline is ready
        if (error || chosen < count) break;
        return otherwise;
    }
    return indices[chosen % count];  // with an error, any
}

}  // namespace weft::detail
