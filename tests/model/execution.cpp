#include "execution.hpp"

#include <cstdio>
#include <cstdlib>

#include <boost/context/detail/fcontext.hpp>

#include "explorer.hpp"

namespace weft::model {

namespace {

namespace context = boost::context::detail;

constexpr std::size_t stackSize = 128 * 1024;
constexpr std::size_t arenaSize = 64 * 1024;

// The scenario is too large for the tables and cannot be explored.
[[noreturn]] void refuse(const char* what) {
    std::fprintf(stderr, "model: %s\n", what);
    std::abort();
}

}  // namespace

Execution* Execution::current_ = nullptr;

Execution::Execution(Choices& choices)
    : choices_(choices), memory_(choices), arena_(std::make_unique<std::byte[]>(arenaSize)) {
    for (Thread& thread : threads_) thread.stack = std::make_unique<std::byte[]>(stackSize);
}

Execution::~Execution() {
    if (current_ == this) current_ = nullptr;
}

void Execution::reset(const ExecutionRules& rules) {
    rules_ = rules;
    memory_.begin(rules.memory);
    threadCount_ = resourceCount_ = locationCount_ = 0;
    self_ = next_ = host;
    over_ = redundant_ = false;
    steps_ = preemptions_ = 0;
    sleeping_ = 0;
    finally_ = nullptr;
    retired_ = {};
    locationNames_ = {};
    arenaUsed_ = 0;
    failure_ = FailureKind::none;
    message_.clear();
    outcome_ = 0;
    outcomeSize_ = 0;
    trace_.clear();
}

End Execution::run(const Scenario& scenario, const ExecutionRules& rules) {
    current_ = this;
    reset(rules);
    scenario_ = &scenario;
    phase_ = Phase::setup;
    prepare(threadCount_++, "main");
    resume(0);
    if (!over_) startThreads();
    phase_ = over_ ? phase_ : Phase::running;
    loop();
    phase_ = Phase::idle;
    self_ = 0;  // destructors see everything that was done
    for (unsigned i = 1; i < threadCount_; ++i) memory_.join(0, i);
    destroyOwned();
    return verdict();
}

End Execution::verdict() const noexcept {
    if (redundant_) return End::redundant;
    if (memory_.hasOpenPromises()) return End::unredeemed;
    return failure_ == FailureKind::none ? End::complete : End::failed;
}

// --- threads

void Execution::prepare(unsigned index, const char* name) {
    Thread& thread = threads_[index];
    thread.name = name;
    thread.wait = Wait::none;
    thread.finished = thread.yielded = thread.woken = false;
    thread.next = {};
    thread.context = context::make_fcontext(thread.stack.get() + stackSize, stackSize, [](context::transfer_t from) {
        Execution& self = current();
        self.hostContext_ = from.fctx;
        if (self.self_ == 0) {
            self.mainBody(*self.scenario_);
        } else {
            self.threads_[self.self_].body();
        }
        self.finishThread();
    });
}

unsigned Execution::addThread(const char* name, std::function<void()> body) {
    if (threadCount_ == maxThreads) refuse("too many threads");
    threads_[threadCount_].body = std::move(body);
    prepare(threadCount_, name);
    return threadCount_++;
}

// Thread 0: builds the scenario, waits for its threads, checks the final state.
void Execution::mainBody(const Scenario& scenario) {
    {
        ModelRun run(*this);
        scenario(run);
    }
    for (unsigned i = 1; i < threadCount_; ++i) memory_.fork(0, i);
    threads_[0].wait = Wait::threads;
    switchToHost();
    threads_[0].wait = Wait::none;
    phase_ = Phase::finishing;
    for (unsigned i = 1; i < threadCount_; ++i) memory_.join(0, i);
    if (finally_ && failure_ == FailureKind::none) finally_();
    over_ = true;
}

// Runs each thread up to its first step, which it announces; code before that step is not scheduled.
void Execution::startThreads() {
    phase_ = Phase::starting;
    for (unsigned i = 1; i < threadCount_ && !over_; ++i) resume(i);
    self_ = host;
}

void Execution::loop() {
    while (!over_) {
        if (next_ == host) next_ = pickNext();
        if (over_) return;
        resume(std::exchange(next_, host));
    }
}

void Execution::resume(unsigned thread) {
    self_ = thread;
    threads_[thread].context = context::jump_fcontext(threads_[thread].context, nullptr).fctx;
}

void Execution::switchToHost() {
    hostContext_ = context::jump_fcontext(hostContext_, nullptr).fctx;
}

void Execution::finishThread() {
    threads_[self_].finished = true;
    if (phase_ == Phase::running && !over_) next_ = pickNext();
    switchToHost();
    std::abort();  // a finished thread is never resumed
}

void Execution::abandonThread() {
    finishThread();
    std::abort();
}

void Execution::fail(FailureKind kind, std::string message) {
    record(kind, std::move(message));
    if (!memory_.hasOpenPromises()) over_ = true;  // otherwise it counts only if the promises are kept
    abandonThread();
}

void Execution::record(FailureKind kind, std::string message) {
    if (failure_ != FailureKind::none) return;
    failure_ = kind;
    message_ = std::move(message);
}

// --- the objects of a scenario

unsigned Execution::addLocation(Value initial) {
    if (locationCount_ == maxLocations) refuse("too many atomics");
    retired_[locationCount_] = false;
    ++locationCount_;
    return memory_.addLocation(self_, initial);
}

unsigned Execution::addResource(const char* name) {
    if (resourceCount_ == maxResources) refuse("too many events and mutexes");
    resources_[resourceCount_] = {name, false, View{}};
    return resourceCount_++;
}

void Execution::retireLocation(unsigned location) {
    checkAlive(location);
    if (!memory_.quietFor(location, self_)) {
        fail(FailureKind::lifetime, nameOfLocation(location) + " is destroyed while another thread may still use it");
    }
    retired_[location] = true;
}

void Execution::checkAlive(unsigned location) {
    if (retired_[location]) fail(FailureKind::lifetime, nameOfLocation(location) + " is used after its destruction");
}

void* Execution::allocate(std::size_t size, std::size_t alignment) {
    const auto base = reinterpret_cast<std::uintptr_t>(arena_.get());
    const std::uintptr_t start = (base + arenaUsed_ + alignment - 1) & ~(alignment - 1);
    if (start + size > base + arenaSize) refuse("the scenario's objects are too large");
    arenaUsed_ = start + size - base;
    return reinterpret_cast<void*>(start);
}

void Execution::atEnd(void* object, void (*destroy)(void*)) {
    owned_.push_back({object, destroy});
}

void Execution::forget(void* object) noexcept {
    std::erase_if(owned_, [&](const Owned& owned) { return owned.object == object; });
}

void Execution::destroyOwned() {
    while (!owned_.empty()) {
        const Owned last = owned_.back();
        owned_.pop_back();
        last.destroy(last.object);
    }
}

void Execution::observe(std::initializer_list<int> values) {
    if (values.size() > 8) refuse("an outcome has at most eight values");
    outcome_ = 0;
    for (const int value : values) outcome_ = outcome_ << 8 | static_cast<std::uint8_t>(value);
    outcomeSize_ = values.size();
}

void Execution::nameLocations(std::initializer_list<const char*> names) {
    unsigned index = 0;
    for (const char* name : names) {
        if (index < maxLocations) locationNames_[index++] = name;
    }
}

}  // namespace weft::model
