// Carrier: recording of events. docs/explanation/protocol.md section 17.
#include <weft/scheduler/carrier.hpp>

#include "current_carrier.hpp"

namespace weft {

namespace {

constexpr std::uint64_t most32 = 0xffff'ffff;

std::int64_t sinceEpoch(TimePoint time) noexcept {
    return time.time_since_epoch().count();
}

}  // namespace

// Records an event that lasts from `begin` until now.
void Carrier::trace(detail::TraceKind kind, TimePoint begin, std::uint64_t a, std::uint64_t b,
                    std::uint64_t c) noexcept {
    const std::int64_t began = sinceEpoch(begin);
    trace_->record(detail::TraceEvent{.kind = kind,
                                      .begin = began,
                                      .duration = sinceEpoch(Clock::steady().now()) - began,
                                      .a = a,
                                      .b = static_cast<std::uint32_t>(std::min(b, most32)),
                                      .c = static_cast<std::uint32_t>(std::min(c, most32))}
                       .words());
}

void Carrier::traceFromOutside(detail::TraceKind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
    Carrier* const caller = current();
    const bool ours = caller != nullptr && &caller->group_ == &group_;
    Carrier& recorder = ours ? *caller : *this;
    recorder.trace(kind, Clock::steady().now(), a, b, c);
}

// Records a sleep that has ended. An announcement without a sleep is not recorded.
void Carrier::tracePark(detail::CalledBy call) noexcept {
    const TimePoint began = std::exchange(parkBegan_, TimePoint());
    if (began == TimePoint()) return;
    const bool byItself = parkEnd_ == detail::SleepEnd::byItself;
    trace(detail::TraceKind::park, began,
          byItself ? 0
          : call   ? 2
                   : 1,
          call ? call.victim() : 0, static_cast<std::uint64_t>(parkKind_));
}

}  // namespace weft
