#include <weft/scheduler/carrier_group.hpp>

#include <cstdlib>
#include <map>
#include <string>

#include <weft/scheduler/detail/outstanding.hpp>
#include <weft/scheduler/detail/two_choices.hpp>
#include <weft/scheduler/log.hpp>

#include "carrier_helper.hpp"
#include "fiber_access.hpp"
#include "fork_mark.hpp"

namespace weft {

CarrierGroup::CarrierGroup(const CarrierOptions& options)
    : options_(resolve(options)), places_(placesFor(options_)), forkGeneration_(detail::watchForks()), stacks_(StackPool::create(options_.stackGuard)) {
    carriers_.reserve(options_.carriers);
    for (unsigned i = 0; i < options_.carriers; ++i) carriers_.push_back(std::make_unique<Carrier>(*this, i));
    if (options_.workStealing) formCrews();
    startCarriers();
}

std::vector<CarrierPlace> CarrierGroup::placesFor(const ResolvedCarrierOptions& options) {
    if (options.topology == nullptr) return std::vector<CarrierPlace>(options.carriers);
    std::vector<CarrierPlace> places = options.topology->place(options.carriers);
    if (places.size() != options.carriers) {
        throw ConfigurationError("the topology gave " + std::to_string(places.size()) + " places for " +
                                 std::to_string(options.carriers) + " carriers; accepted: one for each");
    }
    return places;
}

// Those who may help each other. One that is alone in its cluster has nobody.
void CarrierGroup::formCrews() {
    std::map<unsigned, std::vector<Carrier*>> members;
    for (const auto& carrier : carriers_) {
        const bool byCluster = options_.stealScope == StealScope::cluster;
        members[byCluster ? places_[carrier->index()].cluster : 0].push_back(carrier.get());
    }
    for (auto& [cluster, carriers] : members) {
        if (carriers.size() == 1) continue;
        crews_.push_back(std::make_unique<detail::StealCrew>(
            std::move(carriers), detail::StealRules{.depth = options_.stealDepth, .age = options_.stealAge}));
    }
}

// Once for the group: the reason is the same for all of them.
void CarrierGroup::reportUnbound(const Carrier& carrier, int error) noexcept {
    if (unboundReported_.exchange(true, std::memory_order_relaxed)) return;
    log(LogLevel::warning, {"carrier ", carrier.name(), " cannot be bound to its CPU (", fromErrno(error).message(),
                            "): it floats; so do others of its group that cannot"});
}

namespace {

[[noreturn]] void rethrowStartError(const std::string& carrier) {
    try {
        throw;
    } catch (const std::system_error& error) {
        throw SystemError(fromErrno(error.code().value()), "the thread of carrier " + carrier);
    }
}

}  // namespace

// Threads start only now that every carrier can be seen by every other (W1).
void CarrierGroup::startCarriers() {
    for (auto& carrier : carriers_) {
        {
            std::lock_guard held(lock_);
            ++running_;
        }
        try {
            carrier->start();
        } catch (...) {
            carrierEnded();  // this one never began
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

}  // namespace

CarrierGroup::~CarrierGroup() {
    if (forked()) {
        abandon();
        return;
    }
    if (isOwnCarrier()) {
        log(LogLevel::error,
            {"carrier group '", options_.name, "' is destroyed on its own carrier ", Carrier::current()->name(), " (",
             currentFiberName(), "), whose thread the destructor would have to join. If this is exit() in a fiber: let main() "
             "return instead, or call _exit()"});
        std::abort();
    }
    while (!shutdown(std::chrono::seconds(5))) {
    }
    countOutstanding();
    carriers_.clear();  // before the stacks that their caches hold
}

// Over the whole group: a fiber may end on another carrier than it began on.
void CarrierGroup::countOutstanding() const noexcept {
    std::int64_t fibers = 0;
    for (const auto& carrier : carriers_) {
        const CarrierStats stats = carrier->stats();
        fibers += static_cast<std::int64_t>(stats.spawned - stats.finished);
    }
    if (fibers != 0) detail::outstanding.fibers.fetch_add(fibers, std::memory_order_relaxed);
}

// In a forked child: the threads do not exist, so nothing can be joined, and nothing that they use be freed.
void CarrierGroup::abandon() noexcept {
    for (auto& carrier : carriers_) static_cast<void>(carrier.release());
    for (auto& crew : crews_) static_cast<void>(crew.release());
    static_cast<void>(stacks_.release());
    log(LogLevel::warning, {"carrier group '", options_.name,
                            "' has no threads in this forked process and is left as it is; after fork(), call exec() or "
                            "_exit()"});
}

bool CarrierGroup::forked() const noexcept {
    return forkGeneration_ != detail::forkGeneration();
}

bool CarrierGroup::isOwnCarrier() const noexcept {
    const Carrier* here = Carrier::current();
    return here != nullptr && &here->group() == this;
}

CarrierGroup& CarrierGroup::instance() {
    struct Default {
        ~Default() {
            if (!group->isOwnCarrier()) return;
            log(LogLevel::warning, {"exit() was called in ", currentFiberName(), " of carrier ", Carrier::current()->name(),
                                    ": the process ends without waiting for the other fibers of its group"});
            static_cast<void>(group.release());
        }
        std::unique_ptr<CarrierGroup> group = std::make_unique<CarrierGroup>();
    };
    static Default instance;
    return *instance.group;
}

Carrier& CarrierGroup::next() noexcept {
    Carrier* here = Carrier::home();
    if (here != nullptr && &here->group() == this) return *here;
    const unsigned turn = next_.fetch_add(1, std::memory_order_relaxed);  // any order will do
    return *carriers_[detail::betterOfTwo(turn, carriers_.size(), [this](std::size_t i) { return carriers_[i]->queuedFibers(); })];
}

void CarrierGroup::beginShutdown() noexcept {
    if (forked()) return;  // a carrier's wake-up descriptor is shared with the parent
    for (auto& carrier : carriers_) carrier->requestStop();
}

bool CarrierGroup::shutdown(Duration timeout) {
    if (isOwnCarrier()) throw BlockingOperationException("CarrierGroup::shutdown");
    if (forked()) {
        log(LogLevel::warning, {"shutdown of carrier group '", options_.name,
                                "' in a forked process, which has no carriers: nothing is done"});
        return true;
    }
    const Deadline deadline = deadlineAfter(timeout);
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

// Their threads have nothing left to do, so nobody waits for long.
void CarrierGroup::joinCarriers() noexcept {
    const std::lock_guard held(joining_);
    for (auto& carrier : carriers_) carrier->join();
}

void CarrierGroup::nameStragglers() noexcept {
    for (auto& carrier : carriers_) carrier->requestStragglers();
}

std::uint64_t CarrierGroup::takeFiberIds(std::uint64_t count) noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(count, std::memory_order_relaxed);  // unique, in no order
}

}  // namespace weft
