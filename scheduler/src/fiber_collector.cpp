#include "fiber_collector.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "fork_mark.hpp"
#include "sync/lock_waits.hpp"

namespace weft {

FiberDump CarrierGroup::fibers(Duration timeout) {
    if (forked()) throw detail::forkedError("CarrierGroup::fibers");
    if (!Suspension::allowed()) throw BlockingOperationException("CarrierGroup::fibers");
    detail::FiberCollector collector(*this);
    collector.send();
    return collector.await(timeout);
}

namespace detail {

// Deletes itself when it is answered.
class FiberCollector::Request final : public CarrierRequest {
  public:
    explicit Request(std::shared_ptr<Answers> answers) noexcept : answers_(std::move(answers)) {}

    void answer(Carrier& carrier) noexcept override {
        const std::unique_ptr<Request> self(this);
        if (isReturned(*answers_)) return;  // a list of many fibers takes milliseconds
        deliver(*answers_, carrier.index(), describe(carrier));
    }

  private:
    const std::shared_ptr<Answers> answers_;
};

FiberCollector::FiberCollector(CarrierGroup& group) : group_(group) {
    FiberDump& dump = answers_->dump;
    dump.carriers.resize(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
        Carrier& carrier = group.carrier(i);
        dump.carriers[i].name = carrier.name();
        dump.carriers[i].live = carrier.stats().live;
    }
    answers_->missing = group.size();
}

FiberCollector::~FiberCollector() {
    static_cast<void>(take());
}

void FiberCollector::send() {
    for (std::size_t i = 0; i < group_.size(); ++i) {
        Carrier& carrier = group_.carrier(i);
        auto request = std::make_unique<Request>(answers_);
        if (carrier.send(*request)) {
            static_cast<void>(request.release());
        } else {
            CarrierFibers ended;
            ended.answer = CarrierFibers::Answer::ended;
            deliver(*answers_, carrier.index(), std::move(ended));
        }
    }
}

FiberDump FiberCollector::await(Duration timeout) {
    static_cast<void>(answers_->all.future().awaitFor(timeout));
    FiberDump dump = take();
    addHolders(dump);
    return dump;
}

FiberDump FiberCollector::take() {
    const std::lock_guard held(answers_->lock);
    answers_->returned = true;
    return std::move(answers_->dump);
}

void FiberCollector::addHolders(FiberDump& dump) {
    const auto waits = LockWait::all();
    const std::unordered_map<std::uint64_t, std::uint64_t> holders(waits.begin(), waits.end());
    for (CarrierFibers& carrier : dump.carriers) {
        for (FiberInfo& fiber : carrier.fibers) {
            const auto found = holders.find(fiber.id);
            if (found != holders.end() && fiber.state == FiberState::waiting) fiber.holder = found->second;
        }
    }
}

bool FiberCollector::isReturned(Answers& answers) noexcept {
    const std::lock_guard held(answers.lock);
    return answers.returned;
}

void FiberCollector::deliver(Answers& answers, unsigned index, CarrierFibers&& fibers) noexcept {
    {
        const std::lock_guard held(answers.lock);
        if (answers.returned) return;  // too late
        CarrierFibers& carrier = answers.dump.carriers[index];
        carrier.answer = fibers.answer;
        carrier.fibers = std::move(fibers.fibers);
        carrier.live = fibers.live;
        if (--answers.missing != 0) return;
    }
    answers.all.setValue();
}

// Context of the following: the carrier's thread, between two tasks.
CarrierFibers FiberCollector::describe(Carrier& carrier) noexcept {
    CarrierFibers answer;
    answer.live = carrier.stats().live;
    try {
        answer.fibers = list(carrier);
        answer.answer = CarrierFibers::Answer::given;
    } catch (...) {
        answer.fibers.clear();
        answer.answer = CarrierFibers::Answer::failed;
    }
    return answer;
}

std::vector<FiberInfo> FiberCollector::list(Carrier& carrier) {
    carrier.live_.settle([&carrier](Fiber& fiber) { carrier.left(fiber); });
    std::vector<FiberInfo> fibers;
    fibers.reserve(carrier.stats().live);
    const TimePoint now = Clock::steady().now();
    carrier.live_.forEach([&](const Fiber& fiber) { fibers.push_back(describe(fiber, now)); });
    std::sort(fibers.begin(), fibers.end(),
              [](const FiberInfo& left, const FiberInfo& right) { return left.id < right.id; });
    return fibers;
}

FiberInfo FiberCollector::describe(const Fiber& fiber, TimePoint now) {
    const Carrier* const ran = fiber.running.load(std::memory_order_relaxed);
    FiberInfo info;
    info.id = fiber.id;
    info.name = std::string_view(FiberName(fiber));
    info.home = fiber.homeCarrier->index();
    info.ranOn = ran != nullptr ? ran->index() : info.home;
    info.state = stateOf(fiber);
    info.cancelled = fiber.state.isCancelRequested();
    info.call = fiber.lastCall.load(std::memory_order_relaxed);
    // A fiber waits only at home, so this thread wrote the time.
    if (info.state == FiberState::waiting && !fiber.isPoller) info.waited = now - fiber.runBeforeWait;
    info.closure = fiber.operations->closure;
    return info;
}

FiberState FiberCollector::stateOf(const Fiber& fiber) noexcept {
    const Carrier* const ran = fiber.running.load(std::memory_order_relaxed);
    if (ran == nullptr) return FiberState::fresh;
    if (fiber.park.parkedEpoch() != 0) return FiberState::waiting;
    if (fiber.isPoller) return FiberState::polling;
    return ran->currentFiber_ == &fiber ? FiberState::running : FiberState::runnable;
}

}  // namespace detail
}  // namespace weft
