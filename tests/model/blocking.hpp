// What model threads block in: futex, event, mutex, and waiting for a change. None of them orders memory, unless it
// says so: what the kernel's locks order beyond C++ is not to be relied on. Context: model threads.
#pragma once

#include <limits>

#include "atomics.hpp"

namespace weft::model {

enum class Timeout : bool { never, possible };

// Sleeps while the word holds `value`, atomically with the look at it, until futexWake(). False: it timed out, which it
// may do at any time.
inline bool futexWait(const Atomic<std::uint32_t>& word, std::uint32_t value, Timeout timeout = Timeout::never,
                      std::source_location where = std::source_location::current()) {
    Execution& run = Execution::current();
    Footprint footprint;
    footprint.resource = static_cast<std::uint8_t>(word.location());
    run.step(footprint);
    run.checkAlive(word.location());
    const bool sleeps = run.memory().newest(word.location()).value == value;
    if (run.tracing()) run.note("futex wait", word.location(), "", sleeps ? "sleeps" : "has changed", where);
    if (!sleeps) return true;
    const bool woken = run.block(Wait::futex, word.location(), timeout == Timeout::possible);
    if (run.tracing()) run.note("futex wait", word.location(), "", woken ? "woken" : "timed out", where);
    return woken;
}

// The word may be gone by then: only its address is used.
inline void futexWake(const Atomic<std::uint32_t>& word, unsigned limit = 1,
                      std::source_location where = std::source_location::current()) {
    Execution& run = Execution::current();
    Footprint footprint;
    footprint.resource = static_cast<std::uint8_t>(word.location());
    run.step(footprint);
    if (run.tracing()) run.note("futex wake", word.location(), "", {}, where);
    run.wakeFutexWaiters(word.location(), limit);
}

// An eventfd that is watched edge-triggered and never read: a signal before the wait ends the wait at once; signals
// that nobody has waited for yet are one.
class Event {
  public:
    explicit Event(const char* name) : name_(name), resource_(Execution::current().addResource(name)) {}

    void signal(std::source_location where = std::source_location::current()) {
        Execution& run = Execution::current();
        Footprint footprint;
        footprint.resource = static_cast<std::uint8_t>(maxLocations + resource_);
        run.step(footprint);
        if (run.tracing()) run.note("signal", maxLocations, "", name_, where);
        run.resourceSet(resource_) = true;
    }
    // False: it timed out, which it may do at any time.
    bool wait(Timeout timeout = Timeout::never, std::source_location where = std::source_location::current()) {
        Execution& run = Execution::current();
        const bool came = run.block(Wait::event, resource_, timeout == Timeout::possible);
        if (came) run.resourceSet(resource_) = false;
        if (run.tracing()) run.note("wait", maxLocations, "", std::string(name_) + (came ? "" : " timed out"), where);
        return came;
    }

  private:
    const char* name_;
    unsigned resource_;
};

// Orders memory, as a mutex does. One that is destroyed must be done with: nobody holds it, everybody who has held it
// happens before.
class Mutex {
  public:
    Mutex() : Mutex("lock") {}
    explicit Mutex(const char* name) : resource_(Execution::current().addResource(name)), uses_(true) {}

    void lock(std::source_location where = std::source_location::current()) {
        Execution& run = Execution::current();
        run.block(Wait::mutex, resource_, false);
        run.resourceSet(resource_) = true;
        run.memory().acquire(run.self(), run.resourceView(resource_));
        if (run.tracing()) run.note("lock", maxLocations, "", {}, where);
        uses_.write("a lock");
    }
    void unlock(std::source_location where = std::source_location::current()) {
        Execution& run = Execution::current();
        Footprint footprint;
        footprint.resource = static_cast<std::uint8_t>(maxLocations + resource_);
        run.step(footprint);
        if (run.tracing()) run.note("unlock", maxLocations, "", {}, where);
        uses_.write("a lock");
        run.memory().release(run.self(), run.resourceView(resource_));
        run.resourceSet(resource_) = false;
    }

  private:
    unsigned resource_;
    AccessLog uses_;
};

// A loop that spins until `predicate` holds. The predicate may only load. Between two looks the thread sleeps until a
// location that it has read holds something newer than what it read, so that every execution ends and none is lost.
template <class Predicate>
void await(Predicate predicate) {
    Execution& run = Execution::current();
    run.memory().startWatching(run.self());
    while (!predicate()) {
        run.block(Wait::change, 0, false);
        run.memory().insistOnNewer(run.self());
        run.memory().startWatching(run.self());
    }
}

// For a loop that await() cannot express: lets every other thread that can run take a step first.
inline void yield() {
    Execution::current().yield();
}

}  // namespace weft::model
