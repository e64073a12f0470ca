// What model threads block on: futex, event, mutex, and a change of memory. None of them orders memory unless its
// comment says so: the protocols must not rely on the order that the kernel's locks add beyond C++. Context: model
// threads.
#pragma once

#include <limits>
#include <string>
#include <utility>

#include "atomics.hpp"

namespace weft::model {

enum class Timeout : bool { never, possible };

// Sleeps until futexWake() if the word holds `value`; the check and the sleep are atomic. Returns false if it timed
// out, which may happen at any time.
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

// The word may no longer exist: only its address is used.
inline void futexWake(const Atomic<std::uint32_t>& word, unsigned limit = 1,
                      std::source_location where = std::source_location::current()) {
    Execution& run = Execution::current();
    Footprint footprint;
    footprint.resource = static_cast<std::uint8_t>(word.location());
    run.step(footprint);
    if (run.tracing()) run.note("futex wake", word.location(), "", {}, where);
    run.wakeFutexWaiters(word.location(), limit);
}

// An eventfd that is watched edge-triggered and never read. A signal before the wait ends the wait at once; several
// signals before a wait count as one.
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
    // Returns false if it timed out, which may happen at any time.
    bool wait(Timeout timeout = Timeout::never, std::source_location where = std::source_location::current()) {
        Execution& run = Execution::current();
        const bool came = run.block(Wait::event, resource_, timeout == Timeout::possible);
        if (came) run.resourceSet(resource_) = false;
        if (run.tracing()) run.note("wait", maxLocations, "", std::string(name_) + (came ? "" : " timed out"), where);
        return came;
    }
    // As wait(), without blocking: consumes a signal that has come. Returns false if none has.
    bool look(std::source_location where = std::source_location::current()) {
        Execution& run = Execution::current();
        Footprint footprint;
        footprint.resource = static_cast<std::uint8_t>(maxLocations + resource_);
        run.step(footprint);
        const bool came = std::exchange(run.resourceSet(resource_), false);
        if (run.tracing()) run.note("look", maxLocations, "", std::string(name_) + (came ? "" : " not set"), where);
        return came;
    }

  private:
    const char* name_;
    unsigned resource_;
};

// Orders memory, as a mutex does. At its destruction no thread may hold it, and every unlock must happen before.
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

// A loop that spins until `predicate` holds. The predicate may only load. Between two checks the thread sleeps until a
// location that it has read holds a newer value, so every execution ends and none is missed.
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

// For a loop that await() cannot express: lets every other runnable thread take a step first.
inline void yield() {
    Execution::current().yield();
}

}  // namespace weft::model
