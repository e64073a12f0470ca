#include "property/world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "property/actor.hpp"
#include "property/explanation.hpp"
#include "property/thing.hpp"

namespace weft::property {

namespace {

constexpr std::size_t forThreads = 2;  // a source

CarrierOptions optionsFor(const Program& program, unsigned carriers, Clock& clock) {
    CarrierOptions options;
    options.name = "prop";
    options.carriers = carriers;
    options.topology = "none";
    options.traceEvents = 0;
    options.clock = &clock;
    options.workStealing = carriers > 1 && program.seed % 2 != 0;
    if (carriers == 1) options.yieldBudget = std::chrono::seconds(1);  // real time changes no order
    options.shuffleSeed = program.seed;
    return options;
}

}  // namespace

World::World(const Program& program, unsigned carriers)
    : program_(program),
      live_(program.actors.size()),
      sources_{CancelSource(), CancelSource(), CancelSource()},
      group_(optionsFor(program, carriers, clock_)) {
    sources_[1] = CancelSource(sources_[0].token());
    for (const Object& object : program_.objects)
        things_.push_back(makeThing(object, static_cast<int>(things_.size())));
    for (std::size_t i = 0; i < program_.actors.size(); ++i) {
        tops_.push_back(&makeActor(nullptr, nullptr, i + program_.threads >= program_.actors.size()));
    }
}

World::~World() = default;

void World::run() {
    auto conductor = group_.carrier(0).spawn([this] { conduct(); });
    std::vector<std::thread> threads;
    for (std::size_t i = program_.actors.size() - program_.threads; i < program_.actors.size(); ++i) {
        threads.emplace_back([this, i] {
            const CancelScope scope(token(forThreads));
            runActor(i);
        });
    }
    for (std::thread& thread : threads) thread.join();
    conductor.join();
}

// On one carrier, a fiber starts the others, so that none runs before all are queued.
void World::conduct() {
    startFibers();
    Actor& conductor = makeActor(nullptr, nullptr, false);
    for (const Operation& operation : program_.conductor) {
        operation.act == Act::sleep ? pass(operation.ticks) : conductor.run({operation});
    }
    cancelAll();
    awaitAll();
    finishThings();
}

void World::startFibers() {
    for (std::size_t i = 0; i + program_.threads < program_.actors.size(); ++i) {
        auto fiber = carrier(i).spawn([this, i] { runActor(i); }, {.stealable = Stealable::any});
        const std::lock_guard held(lock_);
        fibers_.push_back(std::move(fiber));
    }
}

void World::runActor(std::size_t index) {
    tops_[index]->run(program_.actors[index]);
    tops_[index]->leave();
    live_.fetch_sub(1);
}

void World::cancelAll() {
    for (std::size_t i = 0; i < sources; ++i) cancelSource(i);
    for (std::size_t i = 0; i < tops_.size(); ++i) cancelFiber(i);
}

// Waits with a deadline under a shield end only by the clock.
void World::awaitAll() {
    const TimePoint late = Clock::steady().now() + std::chrono::seconds(20);
    while (live_.load() > 0) {
        pass(10);
        if (Clock::steady().now() > late) reportHang();
    }
    for (JoinHandle<void>& fiber : fibers_) fiber.join();
}

// On one carrier, the clock moves once this fiber sleeps, and timers fire once no fiber can run.
void World::pass(unsigned ticks) {
    const Deadline until = deadlineAfter(clock_.now(), ticks * tick);
    auto mover = carrier(0).spawn([this, ticks] { advance(ticks + 1); });
    thisFiber::sleepUntil(until);
    mover.join();
}

void World::finishThings() {
    Actor& last = makeActor(nullptr, nullptr, false);
    for (const auto& thing : things_) thing->finish(last);
}

Actor& World::makeActor(const Actor* parent, const Frame* outer, bool isThread) {
    const std::lock_guard held(lock_);
    return actors_.emplace_back(*this, static_cast<int>(actors_.size()), parent, outer, isThread);
}

void World::fault(std::string text) {
    const std::lock_guard held(lock_);
    faults_.push_back(std::move(text));
}

void World::advance(unsigned ticks) {
    const std::lock_guard held(lock_);
    const Duration by = ticks * tick;
    advances_.emplace_back(deadlineAfter(clock_.now(), by), stamp());
    clock_.advance(by);
}

void World::cancelSource(std::size_t source) {
    const Stamp now = stamp();
    cancelled_[source].note(now);
    if (source == 0) cancelled_[1].note(now);
    sources_[source].cancel();
}

void World::cancelFiber(std::size_t fiber) {
    const std::lock_guard held(lock_);
    if (fiber >= fibers_.size()) return;  // a thread, or not started yet
    tops_[fiber]->cancelled().note(stamp());
    fibers_[fiber].cancel();
}

std::optional<Stamp> World::whenPassed(Deadline deadline) {
    const std::lock_guard held(lock_);
    const auto reached = std::lower_bound(advances_.begin(), advances_.end(), deadline,
                                          [](const auto& advance, Deadline at) { return advance.first < at; });
    const TimePoint start = advances_.empty() ? clock_.now() : TimePoint(std::chrono::hours(1));
    if (deadline <= start) return 0;
    return reached == advances_.end() ? std::nullopt : std::optional(reached->second);
}

std::string World::faults() {
    std::string text;
    for (const std::string& fault : faults_) text += fault + '\n';
    for (std::size_t i = 0; i < things_.size(); ++i) text += explained(i);
    return text;
}

std::string World::explained(std::size_t object) {
    std::vector<Call> calls;
    for (const Actor& actor : actors_) {
        for (const Call& call : actor.calls()) {
            if (call.object == static_cast<int>(object)) calls.push_back(call);
        }
    }
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.begun < b.begun; });
    const Explanation found = explain(*things_[object]->model(), calls, exact());
    if (found == Explanation::found) return {};
    std::string text = "object " + std::to_string(object) +
                       (found == Explanation::none ? ": its model does not allow these calls:\n"
                                                   : ": the search for an explanation was given up:\n");
    for (const Call& call : calls) text += "  " + describe(call) + '\n';
    return text;
}

void World::reportHang() {
    std::fprintf(stderr, "the program does not end:\n%s", describe(program_).c_str());
    const std::lock_guard held(lock_);
    for (const Actor& actor : actors_) {
        if (!actor.calls().empty() && actor.calls().back().outcome == Outcome::none)
            std::fprintf(stderr, "object %d %s\n", actor.calls().back().object, describe(actor.calls().back()).c_str());
    }
    std::abort();
}

std::unique_ptr<Thing> makeThing(const Object& object, int number) {
    for (const auto make : {makeLock, makeMeeting, makeQueue, makeBroadcast}) {
        if (auto made = make(object, number)) return made;
    }
    return nullptr;
}

}  // namespace weft::property
