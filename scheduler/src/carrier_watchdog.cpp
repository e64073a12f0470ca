#include <weft/scheduler/carrier_watchdog.hpp>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include <pthread.h>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/kept_in_fork.hpp>
#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>

#include "fork_mark.hpp"
#include "stuck_carriers.hpp"
#include "watchdog_limit.hpp"

namespace weft {

namespace {

using std::chrono::milliseconds;

milliseconds intervalOf(const CarrierWatchdogOptions& options, milliseconds limit) {
    const milliseconds interval = options.interval.value_or(std::max(limit / 4, milliseconds(1)));
    if (interval < milliseconds(1) || interval > std::chrono::hours(1)) {
        throw ConfigurationError("CarrierWatchdogOptions::interval (ms) is '" + std::to_string(interval.count()) +
                                 "'; accepted: a whole number from 1 to 3600000");
    }
    return interval;
}

}  // namespace

struct CarrierWatchdog::State : detail::KeptInFork {
    State(CarrierGroup& group, Duration limit, int signal)
        : forkGeneration(detail::watchForks()), carriers(group, limit, signal) {}

    bool forked() const noexcept { return detail::forkGeneration() != forkGeneration; }
    void start(Duration interval);
    void watch(Duration interval) noexcept;
    void end() noexcept;

    const std::uint32_t forkGeneration;
    detail::StuckCarriers carriers;
    std::mutex lock;  // carriers.end() is called under it, so that the thread does not miss it
    std::condition_variable changed;
    std::thread thread;
};

CarrierWatchdog::CarrierWatchdog(CarrierGroup& group, const CarrierWatchdogOptions& options) {
    const milliseconds limit = detail::watchdogLimit(options.limit);
    if (limit == milliseconds(0)) return;
    const milliseconds interval = intervalOf(options, limit);
    state_ = std::make_shared<State>(group, limit, options.signal.value_or(SIGRTMIN + 4));
    state_->start(interval);
}

CarrierWatchdog::~CarrierWatchdog() {
    if (state_ == nullptr) return;
    if (state_->forked()) {
        detail::KeptInFork::keep(std::move(state_));
    } else {
        state_->end();
    }
}

bool CarrierWatchdog::enabled() const noexcept {
    return state_ != nullptr && !state_->forked();
}

void CarrierWatchdog::State::start(Duration interval) {
    try {
        const detail::SignalsBlocked blocked;
        thread = std::thread([this, interval] { watch(interval); });
    } catch (const std::system_error& error) {
        throw SystemError(fromErrno(error.code().value()), "starting the thread of CarrierWatchdog");
    }
}

// A step longer than two intervals means that this process or this thread did not run, and perhaps the carriers
// neither.
void CarrierWatchdog::State::watch(Duration interval) noexcept {
    ::pthread_setname_np(::pthread_self(), "weft-watchdog");
    TimePoint last = Clock::steady().now();
    std::unique_lock held(lock);
    while (!changed.wait_for(held, interval, [this] { return carriers.ended(); })) {
        held.unlock();
        const TimePoint now = Clock::steady().now();
        carriers.check(std::min<Duration>(now - last, 2 * interval));
        last = now;
        held.lock();
    }
}

void CarrierWatchdog::State::end() noexcept {
    {
        const std::lock_guard held(lock);
        carriers.end();
    }
    changed.notify_one();
    thread.join();
}

}  // namespace weft
