#include <weft/scheduler/carrier_options.hpp>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/flight_recorder.hpp>

#include "watchdog_limit.hpp"

namespace weft {

namespace {

using std::chrono::microseconds;

[[noreturn]] void refuse(const std::string& what, const std::string& value, const std::string& accepted) {
    throw ConfigurationError(what + " is '" + value + "'; accepted: " + accepted);
}

struct Range {
    long long least;
    long long most;
    std::string text() const { return "a whole number from " + std::to_string(least) + " to " + std::to_string(most); }
};

template <class T>
T checked(const std::string& what, T value, Range range) {
    if (std::cmp_less(value, range.least) || std::cmp_greater(value, range.most)) {
        refuse(what, std::to_string(value), range.text());
    }
    return value;
}

// The value of an environment variable; an empty value counts as unset.
std::optional<std::string> environment(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

long long parsed(const std::string& variable, const std::string& text, Range range) {
    long long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse(variable, text, range.text());
    if (value < range.least || value > range.most) refuse(variable, text, range.text());
    return value;
}

// The value of the option, else of the variable, else the default.
template <class T, class Convert>
long long number(const std::string& option, const std::optional<T>& given, const char* variable, Range range,
                 long long otherwise, Convert convert) {
    if (given) return static_cast<long long>(checked(option, convert(*given), range));
    if (const auto text = environment(variable)) return parsed(variable, *text, range);
    return otherwise;
}

constexpr auto count = [](microseconds time) { return time.count(); };
constexpr auto same = [](auto value) { return value; };

bool wantsWorkStealing(const CarrierOptions& options) {
    if (options.workStealing) return *options.workStealing;
    const auto text = environment("WEFT_WORK_STEALING");
    if (!text) return false;
    if (*text != "true" && *text != "false") refuse("WEFT_WORK_STEALING", *text, "true, false");
    return *text == "true";
}

StealScope stealScopeOf(const CarrierOptions& options, bool stealing, bool placed) {
    const bool given = options.stealScope.has_value();
    const std::string source = given ? "stealScope" : "WEFT_STEAL_SCOPE";
    const std::string value = given
                                  ? (*options.stealScope == StealScope::global ? "global" : "cluster")
                                  : environment("WEFT_STEAL_SCOPE").value_or(stealing && placed ? "cluster" : "global");
    if (value == "global") return StealScope::global;
    if (value != "cluster") refuse(source, value, "global, cluster");
    if (!stealing) refuse(source, value, "global ('cluster' needs workStealing)");
    if (!placed)
        refuse(source, value, "global ('cluster' needs a topology, which defines the clusters: set topology to linux)");
    return StealScope::cluster;
}

std::shared_ptr<const Topology> topologyOf(const CarrierOptions& options) {
    if (options.places != nullptr) {
        if (options.topology) refuse("topology", *options.topology, "no topology when places is set");
        return options.places;
    }
    const std::string source = options.topology ? "topology" : "WEFT_TOPOLOGY";
    const auto value = options.topology ? options.topology : environment("WEFT_TOPOLOGY");
    if (!value || *value == "none") return nullptr;
    if (*value == "linux") return std::make_shared<const LinuxTopology>();
    if (value->starts_with("linux+")) {
        LinuxTopology::Options linux;
        linux.skip = static_cast<unsigned>(parsed(source + " (N of linux+N)", value->substr(6), {0, 1'000'000}));
        return std::make_shared<const LinuxTopology>(std::move(linux));
    }
    refuse(source, *value, "none, linux, linux+N");
}

std::string checkedName(const std::string& name) {
    // Linux truncates thread names to 15 characters: <name><index> must fit.
    if (name.empty() || name.size() > 8) refuse("name", name, "1 to 8 characters");
    return name;
}

}  // namespace

ResolvedCarrierOptions resolve(const CarrierOptions& options) {
    ResolvedCarrierOptions resolved;
    resolved.name = checkedName(options.name);
    const unsigned usual = options.carriers ? 1 : availableCpus();  // which reads 25 files
    resolved.carriers =
        static_cast<unsigned>(number("carriers", options.carriers, "WEFT_CARRIERS", {1, 1024}, usual, same));
    resolved.yieldBudget =
        microseconds(number("yieldBudget (us)", options.yieldBudget, "WEFT_YIELD_US", {1, 1'000'000}, 50, count));
    resolved.idleSpin =
        microseconds(number("idleSpin (us)", options.idleSpin, "WEFT_IDLE_SPIN_US", {0, 1'000'000}, 0, count));
    resolved.workStealing = wantsWorkStealing(options) && resolved.carriers > 1;
    resolved.topology = topologyOf(options);
    resolved.stealScope = stealScopeOf(options, wantsWorkStealing(options), resolved.topology != nullptr);
    resolved.stealDepth =
        static_cast<std::size_t>(number("stealDepth", options.stealDepth, "WEFT_STEAL_DEPTH", {1, 1'000'000}, 4, same));
    resolved.stealAge =
        microseconds(number("stealAge (us)", options.stealAge, "WEFT_STEAL_AGE_US", {0, 1'000'000}, 100, count));
    resolved.traceEvents = static_cast<std::size_t>(number("traceEvents", options.traceEvents, "WEFT_TRACE_EVENTS",
                                                           {0, static_cast<long long>(maxTraceEvents)}, 0, same));
    resolved.blockingThreads = static_cast<std::size_t>(
        number("blockingThreads", options.blockingThreads, "WEFT_BLOCKING_THREADS", {1, 16'384}, 512, same));
    resolved.stackSize =
        checked("stackSize (bytes)", options.stackSize,
                {static_cast<long long>(StackPool::minimumSize), static_cast<long long>(StackPool::maximumSize)});
    resolved.cachedStacks = checked("cachedStacks", options.cachedStacks, {1, 1'000'000});
    resolved.stackGuard = options.stackGuard;
    resolved.clock = options.clock != nullptr ? options.clock : &Clock::steady();
    resolved.shuffleSeed = options.shuffleSeed;
    if (const auto text = environment("WEFT_SHUFFLE_SEED"); text && !options.shuffleSeed) {
        resolved.shuffleSeed = static_cast<std::uint32_t>(parsed("WEFT_SHUFFLE_SEED", *text, {0, 0xffff'ffff}));
    }
    return resolved;
}

std::chrono::milliseconds detail::watchdogLimit(const std::optional<std::chrono::milliseconds>& given) {
    const auto inMilliseconds = [](std::chrono::milliseconds time) { return time.count(); };
    return std::chrono::milliseconds(
        number("CarrierWatchdogOptions::limit (ms)", given, "WEFT_WATCHDOG_MS", {0, 3'600'000}, 0, inMilliseconds));
}

}  // namespace weft
