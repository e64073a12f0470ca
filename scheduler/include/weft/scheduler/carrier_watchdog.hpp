// CarrierWatchdog: logs which carrier has been in one task for too long, and the stack of that task.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

namespace weft {

class CarrierGroup;

struct CarrierWatchdogOptions {
    // How long a carrier may be in one slice of a fiber or in one turn of its poller: 0 to 1 h; WEFT_WATCHDOG_MS;
    // default 0: no watchdog.
    std::optional<std::chrono::milliseconds> limit = {};
    // Time between two checks: 1 ms to 1 h; default: a quarter of the limit, at least 1 ms. A carrier is reported after
    // the limit plus at most two intervals, and plus the reports of other carriers in that time: 200 ms for each that
    // does not record its stack, and what the log sink takes.
    std::optional<std::chrono::milliseconds> interval = {};
    // The signal by which a stuck carrier is made to record its stack. Default: SIGRTMIN + 4; 0: reports have neither a
    // stack nor a fiber.
    std::optional<int> signal = {};
};

// While the object exists, its own thread reads counters that the carriers of the group keep anyway. Each time that a
// carrier has been in one task for longer than the limit, it logs one warning with the carrier, the fiber's name and
// id, and how long, followed by one line per frame of the stack, innermost first; and one more line when the carrier
// goes on. A carrier that sleeps, in its poller or otherwise, is never reported. Time in which the whole process was
// stopped counts as at most two intervals.
//
// The stack is taken by the stuck thread itself, in the handler of `signal`, which calls glibc's backtrace() and writes
// to memory that exists already. backtrace() takes no lock with glibc 2.35 and gcc 12 or later; with earlier versions
// it may wait for a lock of the dynamic loader. A thread that is switching from one stack to another records one frame.
// A system call of the stuck task may return early (EINTR), as with every signal. The carriers' threads unblock the
// signal when the watchdog starts; a carrier that is stuck at that time is reported without a stack. The handler stays
// installed for the rest of the process, because a late signal would otherwise end it. If the program replaces the
// handler later, reports have no stack, and the program's handler runs on the stuck thread. Frames have names where the
// dynamic symbol table has them (link with -rdynamic); otherwise they have a module and an offset for addr2line.
//
// A process that is forked meanwhile has neither the carriers nor the thread: there the object does nothing, and its
// destructor returns at once. A group that the forked process creates may have a watchdog of its own.
class CarrierWatchdog {
  public:
    // Throws ConfigurationError for an option out of range, std::invalid_argument when `signal` cannot be handled or
    // has a handler of the program, and SystemError when no thread is left. `group` must outlive the object. Context:
    // any thread.
    explicit CarrierWatchdog(CarrierGroup& group, const CarrierWatchdogOptions& options = {});
    // Joins the thread. Blocks the calling thread while one carrier is being reported: for 200 ms if it does not record
    // its stack, and for as long as the log sink takes.
    ~CarrierWatchdog();
    CarrierWatchdog(const CarrierWatchdog&) = delete;
    CarrierWatchdog& operator=(const CarrierWatchdog&) = delete;

    // False with a limit of 0: there is no thread, and no signal is used. False in a forked process. Any thread.
    bool enabled() const noexcept;

  private:
    struct State;
    // Null with a limit of 0. On the heap, because in a forked process its condition variable can never be destroyed.
    std::shared_ptr<State> state_;
};

}  // namespace weft
