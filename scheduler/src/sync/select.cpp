#include <weft/scheduler/sync/select.hpp>

#include <algorithm>
#include <array>

namespace weft::detail {

std::size_t selectOne(std::span<SelectBranch* const> branches, std::size_t start, ErrorCode& error) {
    std::array<Select::Branch*, Select::most> all;
    std::copy(branches.begin(), branches.end(), all.begin());
    Deadline deadline = never;
    bool waits = true;
    for (const SelectBranch* const branch : branches) {
        deadline = std::min(deadline, branch->deadline);
        waits = waits && branch->waits;
    }
    std::size_t chosen = 0;
    for (;;) {
        error = Select::wait({all.data(), branches.size()}, start, waits, deadline, chosen, "sync::select");
        if (error == timedOut()) continue;  // now the branch with the deadline is ready
        if (error || chosen < branches.size()) return chosen;
        while (branches[--chosen]->waits) {
        }
        return chosen;  // `otherwise`
    }
}

std::size_t selectStart(std::size_t count) noexcept {
    static thread_local std::size_t turn = 0;
    return turn++ % count;
}

}  // namespace weft::detail
