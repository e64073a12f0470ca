#include <weft/scheduler/flight_recorder.hpp>

#include <cstdio>
#include <ostream>
#include <string>

#include <unistd.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>

#include "quoted_json.hpp"

namespace weft {

namespace {

using detail::TraceEvent;
using detail::TraceKind;

const char* nameOf(TraceKind kind) noexcept {
    constexpr const char* names[] = {"submit", "run", "runFibers", "poll", "park", "wake", "timers", "steal"};
    return names[static_cast<unsigned>(kind)];
}
bool isInstant(TraceKind kind) noexcept {
    return kind == TraceKind::submit || kind == TraceKind::wake || kind == TraceKind::timers;
}
const char* leftBy(std::uint32_t reason) noexcept {
    constexpr const char* names[] = {"yield", "home", "park", "end"};  // detail::SwitchReason
    return names[reason];
}
const char* sleepOf(std::uint32_t kind) noexcept {
    return kind == static_cast<std::uint32_t>(detail::SleepKind::futex) ? "futex" : "poller";
}
const char* yesOrNo(std::uint64_t value) noexcept {
    return value != 0 ? "true" : "false";
}

// Formats the three numbers of an event; flight_recorder.hpp documents the fields.
std::string argumentsOf(const TraceEvent& event) {
    const auto text = [](std::uint64_t number) { return std::to_string(number); };
    switch (event.kind) {
        case TraceKind::submit:
            return "\"fiber\":" + text(event.a) + ",\"home\":" + text(event.b) + ",\"poller\":" + yesOrNo(event.c);
        case TraceKind::run:
            return "\"fiber\":" + text(event.a) + ",\"home\":" + text(event.b) + ",\"left\":\"" + leftBy(event.c) +
                   "\"";
        case TraceKind::runFibers:
            return "\"ran\":" + text(event.a) + ",\"before\":" + text(event.b) + ",\"after\":" + text(event.c);
        case TraceKind::poll:
            return "\"events\":" + text(event.a) + ",\"tasks\":" + text(event.b) + ",\"block\":" + yesOrNo(event.c);
        case TraceKind::park: {
            constexpr const char* ends[] = {"itself", "wake", "call"};
            std::string arguments =
                std::string("\"in\":\"") + sleepOf(event.c) + "\",\"ended\":\"" + ends[event.a] + "\"";
            if (event.a == 2) arguments += ",\"victim\":" + text(event.b);
            return arguments;
        }
        case TraceKind::wake:
            return "\"carrier\":" + text(event.b) + ",\"in\":\"" + sleepOf(event.c) + "\",\"call\":" + yesOrNo(event.a);
        case TraceKind::timers: return "\"count\":" + text(event.a);
        case TraceKind::steal:
            return "\"count\":" + text(event.a >> 32) + ",\"victim\":" + text(event.b) +
                   ",\"directed\":" + yesOrNo(event.c) + ",\"after\":" + text(event.a & 0xffff'ffff);
    }
    return {};
}

// Microseconds with three decimals: the format has no other unit.
std::string inMicroseconds(std::int64_t nanoseconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                  static_cast<long long>(nanoseconds % 1000));
    return text;
}

// Converts each number itself: the locale and the flags of the stream are the program's.
class JsonTrace {
  public:
    explicit JsonTrace(std::ostream& out) : out_(out) { out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["; }

    void track(unsigned carrier, const std::string& name) {
        begin("thread_name", 'M', carrier);
        out_ << ",\"args\":{\"name\":" << detail::quotedJson(name) << "}}";
    }
    void event(unsigned carrier, const TraceEvent& event) {
        begin(nameOf(event.kind), isInstant(event.kind) ? 'i' : 'X', carrier);
        out_ << ",\"ts\":" << inMicroseconds(event.begin);
        if (isInstant(event.kind)) {
            out_ << ",\"s\":\"t\"";
        } else {
            out_ << ",\"dur\":" << inMicroseconds(event.duration);
        }
        out_ << ",\"args\":{" << argumentsOf(event) << "}}";
    }
    void end(std::uint64_t recorded, std::uint64_t dropped) {
        out_ << "\n],\"otherData\":{\"recorded\":" << std::to_string(recorded)
             << ",\"dropped\":" << std::to_string(dropped) << "}}\n";
    }

  private:
    void begin(const char* name, char phase, unsigned carrier) {
        out_ << (first_ ? "\n" : ",\n") << "{\"name\":\"" << name << "\",\"ph\":\"" << phase << "\",\"pid\":" << pid_
             << ",\"tid\":" << std::to_string(carrier);
        first_ = false;
    }

    std::ostream& out_;
    bool first_ = true;
    const std::string pid_ = std::to_string(::getpid());
};

}  // namespace

void writeTrace(CarrierGroup& group, std::ostream& out) {
    JsonTrace trace(out);
    std::uint64_t recorded = 0;
    std::uint64_t dropped = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const Carrier& carrier = group.carrier(i);
        trace.track(carrier.index(), carrier.name());
        if (!carrier.traces()) continue;
        carrier.trace_->forEach(
            [&](const detail::TraceWords& words) { trace.event(carrier.index(), TraceEvent::of(words)); });
        recorded += carrier.trace_->recorded();
        dropped += carrier.trace_->dropped();
    }
    trace.end(recorded, dropped);
}

}  // namespace weft
