// TraceOnSignal: writes the flight recorder's trace to a file whenever the process receives a signal.
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include <weft/scheduler/carrier_group.hpp>

namespace weft {

// While the object exists, its own thread calls writeTrace() for the group at each `signal` and writes the result to
// `path`. A regular file is written as `path`.part, which is created anew, then renamed; after a failure it is removed.
// A pipe or device is written directly, and so is the file to which a symbolic link leads, at its end. A pipe without a
// reader is a failure, as is one that stays full for a second. Each trace, and each failure to write one, is logged.
// Signals that arrive while a trace is written cause one more trace. A trace contains events only with
// CarrierOptions::traceEvents.
//
// In a process that is forked meanwhile the signal does nothing, and the destructor returns at once: the thread exists
// in the parent only. The forked process may have an object of its own, for a group of its own.
class TraceOnSignal {
  public:
    // Throws std::logic_error when an object of this kind or an OnSignal handles `signal`, std::invalid_argument when
    // it cannot be handled, and SystemError when no descriptor or thread is left. `group` must outlive the object.
    // Context: any thread.
    TraceOnSignal(CarrierGroup& group, std::string path, int signal = SIGUSR1);
    // Restores the former handler of the signal. Blocks the thread while a trace is being written; up to a second of
    // it if the reader of a pipe does not read. A requested trace that has not been begun is not written.
    ~TraceOnSignal();
    TraceOnSignal(const TraceOnSignal&) = delete;
    TraceOnSignal& operator=(const TraceOnSignal&) = delete;

  private:
    class Writer;
    std::shared_ptr<Writer> writer_;
};

}  // namespace weft
