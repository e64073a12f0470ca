// OnSignal: calls a function of the program whenever the process receives a signal.
#pragma once

#include <memory>

#include <weft/scheduler/unique_function.hpp>

namespace weft {

// While the object exists, its own thread calls the function at each signal, so the function may block: to read files
// again at SIGHUP, for example. Signals that arrive during a call cause one more call. What the function throws is one
// logged error. The thread blocks all signals that the program handles, and a child process that the function starts
// inherits that. ShutdownSignals leaves the signal to it, whichever was made first; destroy the two in the reverse
// order in which they were made.
//
// In a process that is forked meanwhile the signal does nothing, and the destructor returns at once: the thread exists
// in the parent only. The forked process may have an object of its own.
class OnSignal {
  public:
    // Throws std::logic_error when another object of this kind, a FibersOnSignal or a TraceOnSignal handles `signal`,
    // std::invalid_argument when it cannot be handled or `act` is empty, and SystemError when no descriptor or thread
    // is left. Context: any thread.
    OnSignal(int signal, UniqueFunction<void()> act);
    // Restores the former handler of the signal. Waits for a call that runs; one that has not begun is not made.
    // Context: not the function itself.
    ~OnSignal();
    OnSignal(const OnSignal&) = delete;
    OnSignal& operator=(const OnSignal&) = delete;

  private:
    class Caller;
    std::shared_ptr<Caller> caller_;
};

}  // namespace weft
