// Execution: one run of a scenario. It owns the model threads (with stacks that it switches itself, so that one choice
// decides which thread takes the next step), the memory, and what the threads block on. The explorer runs it again and
// again; its only other callers are atomics.hpp and blocking.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "memory.hpp"
#include "sites.hpp"

namespace weft::model {

class ModelRun;
using Scenario = std::function<void(ModelRun&)>;

enum class FailureKind : std::uint8_t { none, assertion, race, lifetime, deadlock, livelock, uninitialised };
const char* nameOf(FailureKind kind) noexcept;

enum class End : std::uint8_t { complete, failed, redundant, unredeemed };

// What the next step of a thread touches. Steps that touch different things may be executed in either order.
struct Footprint {
    static constexpr std::uint8_t everything = 255;
    static constexpr std::uint8_t nothing = 254;
    std::uint8_t resource = everything;
    bool writes = true;
    bool sequential = false;
    bool isFence = false;
};
bool independent(const Footprint& a, const Footprint& b) noexcept;

struct ExecutionRules {
    MemoryRules memory;
    unsigned preemptions = 2;
    bool skipRedundant = false;  // sleep sets; only without a bound on preemptions
    unsigned steps = 2000;       // more of them are reported as a livelock
};

// What a thread waits for.
enum class Wait : std::uint8_t { none, futex, event, mutex, change, threads };

class Execution {
  public:
    static constexpr unsigned maxResources = 16;  // events and mutexes
    static constexpr unsigned host = maxThreads;  // no thread: the explorer itself

    explicit Execution(Choices& choices);
    ~Execution();
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    static Execution& current() noexcept { return *current_; }

    End run(const Scenario& scenario, const ExecutionRules& rules);
    void trace(bool on) { tracing_ = on; }

    // The result of the last run.
    FailureKind failure() const noexcept { return failure_; }
    const std::string& message() const noexcept { return message_; }
    std::string traceText() const;
    std::uint64_t outcome() const noexcept { return outcome_; }
    bool hasOutcome() const noexcept { return outcomeSize_ != 0; }
    std::size_t outcomeSize() const noexcept { return outcomeSize_; }

    // --- for ModelRun
    unsigned addThread(const char* name, std::function<void()> body);
    void setFinally(std::function<void()> body) { finally_ = std::move(body); }
    void nameLocations(std::initializer_list<const char*> names);
    void observe(std::initializer_list<int> values);
    void* allocate(std::size_t size, std::size_t alignment);
    void atEnd(void* object, void (*destroy)(void*));
    void forget(void* object) noexcept;

    // --- for the operations: a step, then its effect, which nothing interrupts
    void step(Footprint footprint);
    Memory& memory() noexcept { return memory_; }
    Sites& sites() noexcept { return sites_; }
    unsigned self() const noexcept { return self_; }
    bool isLive() const noexcept { return phase_ != Phase::idle; }
    [[noreturn]] void fail(FailureKind kind, std::string message);

    unsigned addLocation(Value initial);
    void retireLocation(unsigned location);
    void checkAlive(unsigned location);
    void note(const char* operation, unsigned location, const char* order, std::string detail,
              const std::source_location& where);
    bool tracing() const noexcept { return tracing_; }

    // --- blocking
    unsigned addResource(const char* name);
    bool& resourceSet(unsigned resource) noexcept { return resources_[resource].set; }
    View& resourceView(unsigned resource) noexcept { return resources_[resource].view; }
    // Blocks the calling thread. Returns true if what it waited for has come, false if a timed wait gave up.
    bool block(Wait wait, unsigned resource, bool timed);
    void wakeFutexWaiters(unsigned location, unsigned limit);
    void yield();

  private:
    enum class Phase : std::uint8_t { idle, setup, starting, running, finishing };
    struct Thread {
        void* context = nullptr;
        std::unique_ptr<std::byte[]> stack;
        std::function<void()> body;
        const char* name = "";
        Wait wait = Wait::none;
        unsigned resource = 0;
        bool timed = false;
        bool woken = false;
        bool finished = false;
        bool yielded = false;
        Footprint next;
    };
    struct Resource {
        const char* name;
        bool set;  // an event is pending, a mutex is locked
        View view;
    };
    struct Owned {
        void* object;
        void (*destroy)(void*);
    };
    struct TraceLine {
        unsigned thread;
        std::string text;
        std::source_location where;
    };

    void reset(const ExecutionRules& rules);
    void prepare(unsigned thread, const char* name);
    void mainBody(const Scenario& scenario);
    void loop();
    void startThreads();
    void resume(unsigned thread);
    void switchToHost();
    [[noreturn]] void abandonThread();
    void finishThread();
    void destroyOwned();
    End verdict() const noexcept;

    bool isEnabled(const Thread& thread) const noexcept;
    bool othersFinished() const noexcept;
    unsigned listRunnable(std::array<std::uint8_t, maxThreads>& list, bool yielded) const noexcept;
    unsigned withoutSleeping(std::array<std::uint8_t, maxThreads>& list, unsigned count);
    void updateSleeping(const std::array<std::uint8_t, maxThreads>& list, unsigned taken) noexcept;
    unsigned pickNext();
    unsigned nobodyCanRun();
    void record(FailureKind kind, std::string message);
    std::string whoWaits() const;
    std::string nameOfLocation(unsigned location) const;

    static Execution* current_;

    Choices& choices_;
    Memory memory_;
    Sites sites_;
    ExecutionRules rules_;
    Phase phase_ = Phase::idle;
    std::array<Thread, maxThreads> threads_;
    unsigned threadCount_ = 0;
    unsigned self_ = host;
    unsigned next_ = host;
    void* hostContext_ = nullptr;
    bool over_ = false;
    bool redundant_ = false;
    unsigned steps_ = 0;
    unsigned preemptions_ = 0;
    std::uint8_t sleeping_ = 0;  // threads whose next step has been explored already

    const Scenario* scenario_ = nullptr;
    std::function<void()> finally_;
    std::array<Resource, maxResources> resources_;
    unsigned resourceCount_ = 0;
    unsigned locationCount_ = 0;
    std::array<bool, maxLocations> retired_{};
    std::array<const char*, maxLocations> locationNames_{};

    std::unique_ptr<std::byte[]> arena_;
    std::size_t arenaUsed_ = 0;
    std::vector<Owned> owned_;

    FailureKind failure_ = FailureKind::none;
    std::string message_;
    std::uint64_t outcome_ = 0;
    std::size_t outcomeSize_ = 0;
    bool tracing_ = false;
    std::vector<TraceLine> trace_;
};

}  // namespace weft::model
