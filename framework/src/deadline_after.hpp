// A timeout as a point in time, without overflow.
#pragma once

#include <weft/scheduler/deadline.hpp>

namespace weft::detail {

inline Deadline deadlineAfter(Duration timeout) noexcept {
    const TimePoint now = Clock::steady().now();
    return timeout >= never - now ? never : now + timeout;
}

}  // namespace weft::detail
