// WakeTimer: ends a sleep inside Asio at a given time, with a resolution of a nanosecond, where Asio's own timeouts
// round up to milliseconds.
#pragma once

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/transports/fd.hpp>

#include "reactor.hpp"

namespace weft::asio_io::detail {

// Context: the carrier.
class WakeTimer {
  public:
    // Throws SystemError.
    explicit WakeTimer(Reactor& reactor) : fd_(create()) { reactor.watch(watch_, fd_.get()); }

    // Makes the next sleep end at `at` or earlier. With `never`, an earlier setting stays in force.
    void set(Deadline at) noexcept {
        if (watch_.takeReadable()) set_ = never;
        if (at == never || at == set_) return;
        const Duration since = std::max(at.time_since_epoch(), Duration(1));  // zero would disarm the timer
        itimerspec spec{};
        spec.it_value.tv_sec = static_cast<time_t>(since.count() / 1'000'000'000);
        spec.it_value.tv_nsec = static_cast<long>(since.count() % 1'000'000'000);
        const int result = ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
        WEFT_ASSERT(result == 0, "timerfd_settime refused the timer's own arguments");
        set_ = at;
    }

  private:
    static int create() {
        const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (fd < 0) throw SystemError(fromErrno(errno), "timerfd_create");
        return fd;
    }

    Fd fd_;
    Reactor::Watch watch_;
    Deadline set_ = never;
};

}  // namespace weft::asio_io::detail
