// CarrierOptions: the configuration of a group's carriers. An unset option takes its value from its environment
// variable, or else the default.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/stack_pool.hpp>
#include <weft/scheduler/topology.hpp>

namespace weft {

enum class StealScope : unsigned char { global, cluster };

// CarrierGroup's constructor checks every value. It throws ConfigurationError, which names the option (or variable),
// the value and the accepted range.
struct CarrierOptions {
    std::string name = "weft";         // 1 to 8 characters; the threads are named <name><index>
    std::optional<unsigned> carriers;  // 1 to 1024; WEFT_CARRIERS; default: availableCpus()
    // Time limit of one run of fibers: 1 us to 1 s; WEFT_YIELD_US; default 50 us.
    std::optional<std::chrono::microseconds> yieldBudget;
    // How long event loops poll without blocking after their last work: 0 to 1 s; WEFT_IDLE_SPIN_US; default 0.
    std::optional<std::chrono::microseconds> idleSpin;
    // WEFT_WORK_STEALING=true|false; default false: each carrier runs only its own fibers. See SpawnOptions::stealable.
    std::optional<bool> workStealing;
    // WEFT_STEAL_SCOPE=global|cluster. `cluster`: only carriers that share a cache steal from each other; requires
    // workStealing and a topology. Default: `cluster` if both are set; otherwise `global`. A warning is logged when
    // more than 32 carriers steal from each other.
    std::optional<StealScope> stealScope;
    // With workStealing, other carriers steal from a carrier once this many fibers wait there (1 to 1,000,000;
    // WEFT_STEAL_DEPTH; default 4)...
    std::optional<std::size_t> stealDepth;
    // ... or once it has run one slice for this long while fibers wait (0 to 1 s; WEFT_STEAL_AGE_US; default 100 us).
    std::optional<std::chrono::microseconds> stealAge;
    // WEFT_TOPOLOGY=none|linux|linux+N; default `none`: the carriers float. `linux`: LinuxTopology chooses a CPU for
    // each carrier and binds it; `linux+N` starts at place N and wraps around. Threads that a bound carrier's fibers
    // start inherit its CPU.
    std::optional<std::string> topology;
    std::shared_ptr<const Topology> places;  // the program's own topology, instead of the option above
    // Number of events that each carrier's flight recorder keeps: 0 to 16,777,216, rounded up to a power of two, 40
    // bytes each; WEFT_TRACE_EVENTS; default 0: no recorder. See flight_recorder.hpp.
    std::optional<std::size_t> traceEvents;
    // The number of threads on which weft::blocking() runs functions of this group's fibers: 1 to 16,384;
    // WEFT_BLOCKING_THREADS; default 512. Threads start when they are needed.
    std::optional<std::size_t> blockingThreads;
    std::size_t stackSize = 256 * 1024;  // bytes of virtual memory per fiber, plus a guard: 16 KiB to 64 MiB
    std::size_t cachedStacks = 1024;     // free stacks that each carrier keeps with their memory: 1 to 1,000,000
    StackGuard stackGuard = StackGuard::automatic;
    // For tests: the clock of all timers, sleeps and deadlines of the group's fibers and event loops, and of
    // deadlineAfter() there; see ManualClock. It must outlive the group. Not covered: what the carriers measure for
    // themselves (yieldBudget, idleSpin, stealAge, CarrierStats, traces, FiberInfo::waited), timeouts of the kernel,
    // and waits of threads that are no carriers. Null, the default: Clock::steady().
    Clock* clock = nullptr;
    // For tests: runs runnable fibers in a pseudo-random order that this seed determines, to find code that relies on
    // FIFO order. WEFT_SHUFFLE_SEED; default: none.
    std::optional<std::uint32_t> shuffleSeed;
};

// The options after defaults and environment variables have been applied and checked.
struct ResolvedCarrierOptions {
    std::string name;
    unsigned carriers;
    std::chrono::microseconds yieldBudget;
    std::chrono::microseconds idleSpin;
    bool workStealing;  // false with one carrier
    std::size_t stealDepth;
    std::chrono::microseconds stealAge;
    StealScope stealScope;
    std::shared_ptr<const Topology> topology;  // null: carriers float
    std::size_t traceEvents;
    std::size_t blockingThreads;
    std::size_t stackSize;
    std::size_t cachedStacks;
    StackGuard stackGuard;
    Clock* clock;  // never null
    std::optional<std::uint32_t> shuffleSeed;
};

// Throws ConfigurationError. Context: any thread; reads the environment.
ResolvedCarrierOptions resolve(const CarrierOptions& options);

// Number of CPUs that this process may use: those of its affinity mask, limited by a cgroup CPU quota (rounded up); at
// least 1. Never throws.
unsigned availableCpus() noexcept;

}  // namespace weft
