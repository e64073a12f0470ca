#include <weft/scheduler/carrier_group.hpp>

#include <cstdlib>
#include <map>
#include <string>

#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/detail/outstanding.hpp>
#include <weft/scheduler/detail/two_choices.hpp>
#include <weft/scheduler/log.hpp>

#include "carrier_helper.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"

namespace weft {

CarrierGroup::CarrierGroup(const CarrierOptions& options, detail::ThisBuild)
    : options_(resolve(options)),
      places_(placesFor(options_)),
      forkGeneration_(detail::watchForks()),
      stacks_(StackPool::create(options_.stackGuard)),
      blockingPool_(std::make_unique<BlockingPool>(BlockingPoolOptions{.threads = options_.blockingThreads})) {
    carriers_.reserve(options_.carriers);
    for (unsigned i = 0; i < options_.carriers; ++i) carriers_.push_back(std::make_unique<Carrier>(*this, i));
    if (options_.workStealing) formStealGroups();
    clockWatch_.emplace(*this);
    startCarriers();
}

CarrierGroup::ClockWatch::ClockWatch(CarrierGroup& group) : group_(group) {
    group_.options_.clock->addListener(*this);
}

CarrierGroup::ClockWatch::~ClockWatch() {
    group_.options_.clock->removeListener(*this);
}

void CarrierGroup::ClockWatch::onClockMoved() noexcept {
    for (auto& carrier : group_.carriers_) carrier->wakeForClock();
}

std::vector<CarrierPlace> CarrierGroup::placesFor(const ResolvedCarrierOptions& options) {
    if (options.topology == nullptr) return std::vector<CarrierPlace>(options.carriers);
    std::vector<CarrierPlace> places = options.topology->place(options.carriers);
    if (places.size() != options.carriers) {
        throw ConfigurationError("the topology returned " + std::to_string(places.size()) + " places for " +
                                 std::to_string(options.carriers) + " carriers; accepted: one place per carrier");
    }
    return places;
}

namespace {

// Before each sleep a carrier checks every other carrier of its steal cluster; for the cost see
// docs/explanation/work-stealing.md.
constexpr std::size_t largestGroup = 32;

void reportLargeGroup(std::size_t carriers) noexcept {
    log(LogLevel::warning,
        {std::to_string(carriers), " carriers are in one steal cluster; the recommended maximum is ",
         std::to_string(largestGroup), ": set topology to linux and stealScope to cluster, or use several groups"});
}

}  // namespace

// Forms the groups of carriers that steal from each other. A carrier that is alone in its cluster gets none.
void CarrierGroup::formStealGroups() {
    std::map<unsigned, std::vector<Carrier*>> members;
    for (const auto& carrier : carriers_) {
        const bool byCluster = options_.stealScope == StealScope::cluster;
        members[byCluster ? places_[carrier->index()].cluster : 0].push_back(carrier.get());
    }
    for (auto& [cluster, carriers] : members) {
        if (carriers.size() == 1) continue;
        if (carriers.size() > largestGroup) reportLargeGroup(carriers.size());
        groups_.push_back(std::make_unique<detail::StealGroup>(
            std::move(carriers), detail::StealRules{.depth = options_.stealDepth, .age = options_.stealAge}));
    }
}

// Logs once per group, because all carriers fail for the same reason.
void CarrierGroup::reportUnbound(const Carrier& carrier, int error) noexcept {
    if (unboundReported_.exchange(true, std::memory_order_relaxed)) return;
    log(LogLevel::warning, {"carrier ", carrier.name(), " cannot be bound to its CPU (", fromErrno(error).message(),
                            "): it floats, as does every other carrier of its group that cannot be bound"});
}

namespace {

[[noreturn]] void rethrowStartError(const std::string& carrier) {
    try {
        throw;
    } catch (const std::system_error& error) {
        throw SystemError(fromErrno(error.code().value()), "starting the thread of carrier " + carrier);
    }
}

}  // namespace

// Starts the threads after all carriers have been constructed, because each may use every other (SCH-1).
void CarrierGroup::startCarriers() {
    for (auto& carrier : carriers_) {
        {
            std::lock_guard held(lock_);
            ++running_;
        }
        try {
            carrier->start();
        } catch (...) {
            carrierEnded();  // this one never started
            beginShutdown();
            joinCarriers();
            rethrowStartError(carrier->name());
        }
    }
}

namespace {

std::string currentFiberName() {
    const detail::Fiber* fiber = FiberAccess::currentFiber(*Carrier::current());
    return fiber != nullptr ? "fiber '" + std::string(detail::FiberName(*fiber)) + "'" : "no fiber";
}

// Of a thread of the group.
std::string currentThread() {
    const Carrier* const here = Carrier::current();
    return here != nullptr ? "its own carrier " + here->name() + " (" + currentFiberName() + ")"
                           : "a thread of its blocking pool";
}

std::string currentFunction() {
    const Carrier* const here = Carrier::current();
    return here != nullptr ? currentFiberName() + " of carrier " + here->name() : "a function of the blocking pool";
}

}  // namespace

CarrierGroup::~CarrierGroup() {
    if (forked()) {
        abandon();
        return;
    }
    if (isOwnThread()) {
        log(LogLevel::error,
            {"carrier group '", options_.name, "' is destroyed on ", currentThread(),
             ", which the destructor would have to join. If a fiber called exit(), or a function in blocking(): let "
             "main() return instead, or call _exit()"});
        std::abort();
    }
    while (!shutdown(std::chrono::seconds(5))) {
    }
    clockWatch_.reset();
    countOutstanding();
    carriers_.clear();  // before the pool of the stacks that their caches hold
}

// Adds the fibers of this group that have not ended to the process-wide count.
void CarrierGroup::countOutstanding() const noexcept {
    std::int64_t fibers = 0;
    for (const auto& carrier : carriers_) {
        const CarrierStats stats = carrier->stats();
        fibers += static_cast<std::int64_t>(stats.spawned - stats.finished);
    }
    if (fibers != 0) detail::outstanding.fibers.fetch_add(fibers, std::memory_order_relaxed);
}

// In a forked child: the threads do not exist, so they cannot be joined, and the memory that they use cannot be freed.
void CarrierGroup::abandon() noexcept {
    clockWatch_.reset();
    for (auto& carrier : carriers_) static_cast<void>(carrier.release());
    for (auto& group : groups_) static_cast<void>(group.release());
    static_cast<void>(stacks_.release());
    log(LogLevel::warning,
        {"carrier group '", options_.name,
         "' has no threads in this forked process and is not destroyed; after fork(), call exec() or "
         "_exit()"});
}

bool CarrierGroup::forked() const noexcept {
    return forkGeneration_ != detail::forkGeneration();
}

bool CarrierGroup::isOwnCarrier() const noexcept {
    const Carrier* here = Carrier::current();
    return here != nullptr && &here->group() == this;
}

// exit() in such a thread would wait for the thread itself, or for the fiber that waits for it.
bool CarrierGroup::isOwnThread() const noexcept {
    return isOwnCarrier() || blockingPool_->isOwnThread();
}

CarrierGroup& CarrierGroup::instance() {
    struct Default {
        ~Default() {
            if (!group->isOwnThread()) return;
            log(LogLevel::warning, {"exit() was called in ", currentFunction(),
                                    ": the process ends without waiting for the other fibers of its group"});
            static_cast<void>(group.release());
        }
        std::unique_ptr<CarrierGroup> group = std::make_unique<CarrierGroup>();
    };
    static Default instance;
    return *instance.group;
}

// The caller's home, if it belongs to this group.
Carrier* CarrierGroup::ownHome() const noexcept {
    Carrier* const here = Carrier::home();
    return here != nullptr && &here->group() == this ? here : nullptr;
}

Carrier& CarrierGroup::leastLoaded() noexcept {
    const unsigned turn = next_.fetch_add(1, std::memory_order_relaxed);  // orders nothing
    return *carriers_[detail::betterOfTwo(turn, carriers_.size(),
                                          [this](std::size_t i) { return carriers_[i]->load(); })];
}

Carrier& CarrierGroup::next() noexcept {
    Carrier* const here = ownHome();
    return here != nullptr ? *here : leastLoaded();
}

// next() for a fiber with these options: other carriers may start one whose home no caller has chosen.
Carrier& CarrierGroup::place(SpawnOptions& options) noexcept {
    if (Carrier* const here = ownHome()) return *here;
    if (!options.stealable) options.stealable = Stealable::fresh;
    return leastLoaded();
}

void CarrierGroup::beginShutdown() noexcept {
    if (forked()) return;  // the parent process shares the carriers' wake-up descriptors
    for (auto& carrier : carriers_) carrier->requestStop();
}

bool CarrierGroup::shutdown(Duration timeout) {
    if (isOwnCarrier()) throw BlockingOperationException("CarrierGroup::shutdown");
    if (forked()) {
        log(LogLevel::warning, {"shutdown of carrier group '", options_.name,
                                "' in a forked process, which has no carriers: the call has no effect"});
        return true;
    }
    const Deadline deadline = deadlineAfter(Clock::steady().now(), timeout);
    beginShutdown();
    if (!awaitCarriers(deadline)) {
        nameStragglers();
        return false;
    }
    joinCarriers();
    return true;
}

bool CarrierGroup::awaitCarriers(Deadline deadline) {
    std::unique_lock lock(lock_);
    const auto allEnded = [this] { return running_ == 0; };
    if (deadline != never) return ended_.wait_until(lock, deadline, allEnded);
    ended_.wait(lock, allEnded);
    return true;
}

void CarrierGroup::carrierEnded() noexcept {
    std::lock_guard held(lock_);
    --running_;
    ended_.notify_all();
}

// The threads are about to end, so the wait is short.
void CarrierGroup::joinCarriers() noexcept {
    const std::lock_guard held(joining_);
    for (auto& carrier : carriers_) carrier->join();
}

void CarrierGroup::nameStragglers() noexcept {
    for (auto& carrier : carriers_) carrier->requestStragglers();
}

std::uint64_t CarrierGroup::takeFiberIds(std::uint64_t count) noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(count, std::memory_order_relaxed);  // only uniqueness matters
}

}  // namespace weft
