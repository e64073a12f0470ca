// FiberDump: what each fiber of a group does at one moment: CarrierGroup::fibers().
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <typeinfo>
#include <vector>

#include <weft/scheduler/clock.hpp>

namespace weft {

enum class FiberState : unsigned char {
    fresh,     // has not started
    runnable,  // is queued
    running,   // runs on another carrier than its home (work stealing)
    waiting,
    polling,  // a poller that does not wait for anything else
};

struct FiberInfo {
    std::uint64_t id = 0;
    std::string name;    // as given, or "fiber-<id>"
    unsigned home = 0;   // index of its home carrier
    unsigned ranOn = 0;  // index of the carrier that runs it or ran it last; its home if it has not started
    FiberState state = FiberState::fresh;
    bool cancelled = false;      // its cancellation has been requested
    const char* call = nullptr;  // the blocking call that it is in; unless it waits, its last one; null: none yet
    // While it waits: for how long, plus at most the time of the run of fibers in which the wait began (the yield
    // budget and one slice). 0 for a poller.
    Duration waited{};
    // If the library was built without NDEBUG, for a wait in a lock call of sync::Mutex, sync::FairMutex or
    // sync::RwLock: the id of the fiber that holds the lock, or an id that no fiber of the group has if a thread or a
    // fiber of another group holds it. Otherwise 0, also if readers hold an RwLock, which counts them without knowing
    // them.
    std::uint64_t holder = 0;
    // The type of the closure that was spawned, which contains the name of the function that spawned it if the closure
    // is a lambda; closureName() makes it readable. Null if the program was compiled without RTTI.
    const std::type_info* closure = nullptr;
    std::string closureName() const;  // empty without a type
};

struct CarrierFibers {
    enum class Answer : unsigned char {
        none,    // not within the timeout: it is stuck in one task
        given,   // `fibers` is complete
        failed,  // there was no memory for it
        ended,   // the carrier has ended and has no fibers
    };

    std::string name;
    Answer answer = Answer::none;
    std::uint64_t live = 0;         // its fibers that have not ended, according to its counters
    std::vector<FiberInfo> fibers;  // those whose home it is, by id
};

// Values that the caller owns. The carriers answer one after the other while the program continues, so the dump is
// consistent for each carrier, but not across them.
struct FiberDump {
    std::vector<CarrierFibers> carriers;  // by index

    // The number of listed fibers.
    std::size_t size() const noexcept;
    // The fiber with this id, or null.
    const FiberInfo* find(std::uint64_t id) const noexcept;

    // For people: one line per fiber, those that have waited longest first; then one line per carrier without an
    // answer, and the totals, by state and by blocking call. Allocates; throws what the stream throws.
    void writeText(std::ostream& out) const;
    // One JSON object: {"carriers":[{"name","answer","live","fibers":[{"id","name","home","ranOn","state","cancelled",
    // "call","waitedNs","holder","closure"}]}]}. A fiber without a call, a holder or a closure has null there. Bytes of
    // a name that are not UTF-8 become U+FFFD.
    void writeJson(std::ostream& out) const;
};

}  // namespace weft
