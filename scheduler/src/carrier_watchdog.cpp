#include <weft/scheduler/carrier_watchdog.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <system_error>

#include <pthread.h>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>

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

CarrierWatchdog::CarrierWatchdog(CarrierGroup& group, const CarrierWatchdogOptions& options) {
    const milliseconds limit = detail::watchdogLimit(options.limit);
    if (limit == milliseconds(0)) return;
    const milliseconds interval = intervalOf(options, limit);
    carriers_ = std::make_unique<detail::StuckCarriers>(group, limit, options.signal.value_or(SIGRTMIN + 4));
    try {
        const detail::SignalsBlocked blocked;
        thread_ = std::thread([this, interval] { watch(interval); });
    } catch (const std::system_error& error) {
        throw SystemError(fromErrno(error.code().value()), "starting the thread of CarrierWatchdog");
    }
}

CarrierWatchdog::~CarrierWatchdog() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard held(lock_);
        ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

// A step longer than two intervals means that this process or this thread did not run, and perhaps the carriers
// neither.
void CarrierWatchdog::watch(Duration interval) noexcept {
    ::pthread_setname_np(::pthread_self(), "weft-watchdog");
    TimePoint last = Clock::steady().now();
    std::unique_lock lock(lock_);
    while (!changed_.wait_for(lock, interval, [this] { return ends_; })) {
        lock.unlock();
        const TimePoint now = Clock::steady().now();
        carriers_->check(std::min<Duration>(now - last, 2 * interval));
        last = now;
        lock.lock();
    }
}

}  // namespace weft
