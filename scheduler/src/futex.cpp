#include "futex.hpp"

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::detail {

namespace {

timespec toTimespec(Deadline deadline) noexcept {
    const auto sinceBoot = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch());
    return {static_cast<time_t>(sinceBoot.count() / 1'000'000'000),
            static_cast<long>(sinceBoot.count() % 1'000'000'000)};
}

}  // namespace

void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t value, Deadline deadline) noexcept {
    static_assert(sizeof(word) == sizeof(std::uint32_t));
    const timespec until = toTimespec(deadline);
    ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline == never ? nullptr : &until, nullptr,
              FUTEX_BITSET_MATCH_ANY);
}

void futexWake(std::atomic<std::uint32_t>& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace weft::detail
