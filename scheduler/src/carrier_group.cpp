#include <weft/scheduler/carrier_group.hpp>

#include <weft/scheduler/detail/outstanding.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

CarrierGroup::CarrierGroup(const CarrierOptions& options) : options_(resolve(options)), stacks_(StackPool::create(options_.stackGuard)) {
    carriers_.reserve(options_.carriers);
    for (unsigned i = 0; i < options_.carriers; ++i) carriers_.push_back(std::make_unique<Carrier>(*this, i));
    startCarriers();
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

CarrierGroup::~CarrierGroup() {
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

CarrierGroup& CarrierGroup::instance() {
    static CarrierGroup group;
    return group;
}

Carrier& CarrierGroup::next() noexcept {
    Carrier* here = Carrier::current();
    if (here != nullptr && &here->group() == this) return *here;
    return *carriers_[next_.fetch_add(1, std::memory_order_relaxed) % carriers_.size()];  // any order will do
}

void CarrierGroup::beginShutdown() noexcept {
    for (auto& carrier : carriers_) carrier->requestStop();
}

bool CarrierGroup::shutdown(Duration timeout) {
    Carrier* here = Carrier::current();
    if (here != nullptr && &here->group() == this) throw BlockingOperationException("CarrierGroup::shutdown");
    const TimePoint now = Clock::steady().now();
    const Deadline deadline = timeout >= never - now ? never : now + timeout;
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

void CarrierGroup::joinCarriers() noexcept {
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
