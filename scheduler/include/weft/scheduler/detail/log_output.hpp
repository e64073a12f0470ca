// LogOutput: a descriptor to which log lines go. Its reader may stall: nothing that logs ever waits for it. Under the
// default sink of the log and under that of framework's initializeLogging().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include <weft/scheduler/clock.hpp>

namespace weft::detail {

// The thread that logs writes, as long as the descriptor takes it at once. Otherwise up to `limit` bytes wait, which a
// thread writes that ends once they are written; of further lines only the number is kept, and is written with the next
// line that has room. Lines keep their order. Assumes that no other process fills the same pipe between a poll() and
// the write() that follows. Context: any thread. Lifetime: until the process ends, because that thread may be in
// write().
class LogOutput {
  public:
    static constexpr std::size_t mostWaiting = 1 << 20;          // bytes
    static constexpr Duration atExit = std::chrono::seconds(1);  // how long exit() waits for what waits

    explicit LogOutput(int fd, std::size_t limit = mostWaiting) noexcept : fd_(fd), limit_(limit) {}
    LogOutput(const LogOutput&) = delete;
    LogOutput& operator=(const LogOutput&) = delete;

    // Writes one or more whole lines, or keeps them as above. Never blocks or throws; allocates only if they must wait.
    void write(std::string_view lines) noexcept;
    // Waits until nothing waits any more, at most for `time`. False: something still waits.
    bool flush(Duration time) noexcept;
    // Lines that were dropped and whose number has not been written.
    std::uint64_t dropped() const noexcept;

    // Of descriptor 2. exit() flushes it.
    static LogOutput& ofStderr() noexcept;

  private:
    void leaveOutParent() noexcept;
    bool put(std::string_view lines) noexcept;
    bool keep(std::string_view lines, bool begun) noexcept;
    bool startWriter() noexcept;
    void writeWaiting() noexcept;

    const int fd_;
    const std::size_t limit_;
    mutable std::mutex lock_;  // guards the rest; never held during a call that may block
    std::condition_variable written_;
    std::string waiting_;
    std::size_t beingWritten_ = 0;  // bytes that the thread has taken
    std::uint64_t dropped_ = 0;
    int writer_ = 0;  // the process in which the thread runs; 0: none runs
};

}  // namespace weft::detail
