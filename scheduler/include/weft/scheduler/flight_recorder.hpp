// The flight recorder: the last events of a group's carriers, as a trace for Perfetto (ui.perfetto.dev) or
// chrome://tracing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>

#include <weft/scheduler/detail/trace_ring.hpp>

namespace weft {

class CarrierGroup;

// The maximum of CarrierOptions::traceEvents: 16,777,216 events, which take 640 MiB per carrier.
inline constexpr std::size_t maxTraceEvents = std::size_t{1} << 24;

// Writes the last events of each carrier (CarrierOptions::traceEvents, rounded up to a power of two) in Chrome's JSON
// trace format, with one track per carrier, which has the carrier's name. Times are microseconds of the steady clock.
// The carriers continue to run: an event that is recorded or overwritten during the call may be missing, but none is
// torn. An event with a duration is recorded when it ends; submit, wake and timers are instants. An event caused by a
// thread that is no carrier of the group is on the track of the carrier that it concerns.
//   submit   a fiber became runnable: "fiber", "home" (a carrier's index), "poller"; on the submitter's track
//   run      one slice of a fiber: "fiber", "home", "left" (why it ended: "yield", "home" (it moved home), "park"
//            or "end")
//   runFibers  one run of fibers: number of fibers "ran", queue depth "before" and "after"
//   poll     one turn of the event loop: I/O "events", loop "tasks", and whether poll() was allowed to "block"
//   park     one sleep: "in" ("futex" or "poller"), what "ended" it: "itself" (an event or a timer), "wake",
//            or "call" (for help; then "victim" is the carrier that needs it)
//   wake     a sleeping carrier was woken: "carrier", "in", whether by a "call" for help; on the waker's track
//   timers   timers expired: "count"
//   steal    fibers were stolen: "count", "victim", whether a call "directed" the steal, the victim's depth "after" it
// Without the option the trace has no events. "recorded" is the number of events so far, and "dropped" how many of them
// were lost because a thread was preempted while it recorded one, for a whole lap of the ring.
// Context: any thread while the group exists. Allocates; throws what the stream throws.
void writeTrace(CarrierGroup& group, std::ostream& out);

namespace detail {

enum class TraceKind : std::uint8_t { submit, run, runFibers, poll, park, wake, timers, steal };

// An event as the ring stores it: its kind, begin and duration, and three numbers whose meaning depends on the kind.
struct TraceEvent {
    TraceKind kind;
    std::int64_t begin;         // ns of the steady clock
    std::int64_t duration = 0;  // ns, up to 2^56 (two years)
    std::uint64_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;

    TraceWords words() const noexcept {
        return {static_cast<std::uint64_t>(begin),
                static_cast<std::uint64_t>(duration) << 8 | static_cast<std::uint64_t>(kind), a,
                std::uint64_t{b} << 32 | c};
    }
    static TraceEvent of(const TraceWords& words) noexcept {
        return {static_cast<TraceKind>(words[1] & 0xff),    static_cast<std::int64_t>(words[0]),
                static_cast<std::int64_t>(words[1] >> 8),   words[2],
                static_cast<std::uint32_t>(words[3] >> 32), static_cast<std::uint32_t>(words[3])};
    }
};

using TraceRing = BasicTraceRing<NativeAtomics>;

}  // namespace detail
}  // namespace weft
