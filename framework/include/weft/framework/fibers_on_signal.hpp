// FibersOnSignal: writes the fiber dump to a file whenever the process receives a signal.
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include <weft/scheduler/carrier_group.hpp>

namespace weft {

// While the object exists, its own thread calls CarrierGroup::fibers() at each `signal` and writes the result as text
// to `path`. A regular file is written as `path`.part, which is created anew, then renamed; after a failure it is
// removed. A pipe or device is written directly, and so is the file to which a symbolic link leads, at its end:
// /dev/stderr is the program's own output also when that is a regular file. A pipe without a reader is a failure, as is
// one that stays full for a second. Each dump, and each failure to write one, is logged. Signals that arrive while a
// dump is written cause one more dump.
//
// In a process that is forked meanwhile the signal does nothing, and the destructor returns at once: the thread exists
// in the parent only. The forked process may have an object of its own, for a group of its own.
class FibersOnSignal {
  public:
    // Throws std::logic_error when an object of this kind or an OnSignal handles `signal`, std::invalid_argument when
    // it cannot be handled, and SystemError when no descriptor or thread is left. `group` must outlive the object.
    // Context: any thread.
    FibersOnSignal(CarrierGroup& group, std::string path, int signal = SIGUSR2);
    // Restores the former handler of the signal. Blocks the thread while a dump is being written: up to a second if a
    // carrier does not answer, and up to another one if the reader of a pipe does not read. A requested dump that has
    // not been begun is not written.
    ~FibersOnSignal();
    FibersOnSignal(const FibersOnSignal&) = delete;
    FibersOnSignal& operator=(const FibersOnSignal&) = delete;

  private:
    class Writer;
    std::shared_ptr<Writer> writer_;
};

}  // namespace weft
