// Call: one call of a primitive in a history: what it was asked for, how it ended, and when.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace weft::property {

// A position in the history. Every stamp is greater than those taken before it.
using Stamp = std::uint64_t;

enum class Verb : std::uint8_t {
    lock,
    tryLock,
    unlock,
    wait,
    tryWait,
    notifyOne,
    notifyAll,
    acquire,
    tryAcquire,
    release,
    forget,
    send,
    trySend,
    receive,
    tryReceive,
    close,
    initialize,
    obtain,
    emplace,
    read,
    next,
    subscribe,
    unsubscribe,
    finish,
    find,   // a select() with `otherwise` found that receive() or wait() would have to wait
    count,  // the state that the object shows at the end
};

enum class Outcome : std::uint8_t {
    none,      // it has not returned
    done,      // `value` is its result
    refused,   // a call that does not wait found that it would have to
    closed,    // the object is closed; for a receiver: and all has been received
    failed,    // the function that it called threw
    timedOut,  // at the call's own deadline
    aborted,   // by a cancellation or the deadline of a scope
};

inline constexpr long nothing = std::numeric_limits<long>::min();  // a result without a value

struct Call {
    int object = -1;
    int actor = -1;
    Verb verb{};
    long argument = 0;
    Outcome outcome = Outcome::none;
    long value = 0;
    long missed = 0;          // of a receiver of a Broadcast
    bool queues = false;      // it may queue, first in, first out
    bool queuesLate = false;  // perhaps not at once: a select() whose deadline has passed tries again
    bool relocks = false;     // it locks a mutex again before it returns
    bool hasTicket = false;   // a wait for a Notify
    Stamp begun = 0;          // before the call
    Stamp ended = 0;          // after it
    Stamp interrupted = 0;    // timedOut and aborted: no earlier than this has the wait been ended
    Stamp entered = 0;        // initialize: before and after the function
    Stamp left = 0;

    bool gaveUp() const noexcept { return outcome == Outcome::timedOut || outcome == Outcome::aborted; }
};

const char* nameOf(Verb verb) noexcept;
const char* nameOf(Outcome outcome) noexcept;
std::string describe(const Call& call);

}  // namespace weft::property
