#include <weft/scheduler/poll_guard.hpp>

#include <weft/scheduler/carrier.hpp>

namespace weft {

bool PollGuard::enter() noexcept {
    return carrier_.trySleepInPoller(loop_);
}

void PollGuard::leave(bool toWork) noexcept {
    carrier_.leaveSleepInPoller(toWork);
}

}  // namespace weft
