// CarrierOptions: how a group's carriers are made. Unset values come from the environment, then from the default.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <weft/scheduler/stack_pool.hpp>
#include <weft/scheduler/topology.hpp>

namespace weft {

enum class StealScope : unsigned char { global, cluster };

// Every value is checked by CarrierGroup's constructor, which throws ConfigurationError naming the option (or
// variable), the value and what is accepted.
struct CarrierOptions {
    std::string name = "weft";         // 1 to 8 characters: threads are called <name><index>
    std::optional<unsigned> carriers;  // 1 to 1024; WEFT_CARRIERS; default: the CPUs that this process may use
    std::optional<std::chrono::microseconds>
        yieldBudget;  // 1 us to 1 s; WEFT_YIELD_US; default 50 us: one drain of fibers
    std::optional<std::chrono::microseconds>
        idleSpin;                          // 0 to 1 s; WEFT_IDLE_SPIN_US; default 0: loops poll before they sleep
    std::optional<bool> workStealing;      // WEFT_WORK_STEALING=true|false; default false: carriers run their own fibers
                                           // only; see SpawnOptions::stealable
    std::optional<StealScope> stealScope;  // WEFT_STEAL_SCOPE=global|cluster; default global; cluster: only carriers that share a
                                           // cache help each other, which takes workStealing and a topology
    // With workStealing, a carrier's fibers are worth another carrier's way when so many wait (1 to 1,000,000;
    // WEFT_STEAL_DEPTH; default 8)...
    std::optional<std::size_t> stealDepth;
    // ... or when the carrier has been in one slice for so long (0 to 1 s; WEFT_STEAL_AGE_US; default 100 us).
    std::optional<std::chrono::microseconds> stealAge;
    // WEFT_TOPOLOGY=none|linux|linux+N; default none: carriers float. linux: each is bound to a CPU of its own, chosen by
    // LinuxTopology, with N places left out. Threads that a bound carrier's fibers start inherit its CPU.
    std::optional<std::string> topology;
    std::shared_ptr<const Topology> places;  // in place of it: the program's own
    std::size_t stackSize = 256 * 1024;    // 16 KiB to 64 MiB of virtual memory per fiber, above a guard
    std::size_t cachedStacks = 1024;       // hot stacks kept per carrier, 1 to 1,000,000
    StackGuard stackGuard = StackGuard::automatic;
    std::optional<std::uint32_t> shuffleSeed;  // WEFT_SHUFFLE_SEED; default none: runnable fibers are taken in an order
                                               // made from this seed, to find code that relies on theirs. For tests
};

// The options with everything filled in and checked.
struct ResolvedCarrierOptions {
    std::string name;
    unsigned carriers;
    std::chrono::microseconds yieldBudget;
    std::chrono::microseconds idleSpin;
    bool workStealing;  // never with one carrier
    std::size_t stealDepth;
    std::chrono::microseconds stealAge;
    StealScope stealScope;
    std::shared_ptr<const Topology> topology;  // null: carriers float
    std::size_t stackSize;
    std::size_t cachedStacks;
    StackGuard stackGuard;
    std::optional<std::uint32_t> shuffleSeed;
};

// Throws ConfigurationError. Context: any thread; reads the environment.
ResolvedCarrierOptions resolve(const CarrierOptions& options);

// The CPUs that this process may use: its affinity mask, cut by a cgroup CPU quota; at least 1. Never throws.
unsigned availableCpus() noexcept;

}  // namespace weft
