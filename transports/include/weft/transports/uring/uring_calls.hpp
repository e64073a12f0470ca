// UringCalls: the system calls of io_uring; a test derives from it and overrides those that should
// differ; a decorator of another object must override all. It must know
// no operation and no policy; it costs one indirect call.
#pragma once

struct io_uring;
struct io_uring_params;
struct io_uring_buf_reg;
struct io_uring_probe;
struct __kernel_timespec;  // NOLINT(bugprone-reserved-identifier): the kernel's name

namespace weft {

// Each returns the kernel's result: 0 or a count, or the error as a negative number. Entries and completions pass
// through memory shared with the kernel, without a call. Context: the ring's own thread. Never allocates or throws;
// blocks only in submitAndWait().
class UringCalls {
  public:
    virtual ~UringCalls() = default;

    virtual int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept;
    virtual void exit(io_uring& ring) noexcept;
    // Submits the queued entries and waits for a completion or until `timeout` has passed (null: no limit).
    virtual int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept;
    // Submits the queued entries and fetches completions, without waiting.
    virtual int submitAndGetEvents(io_uring& ring) noexcept;
    virtual int registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept;
    virtual int unregisterBufferRing(io_uring& ring, int group) noexcept;
    virtual int registerRingFd(io_uring& ring) noexcept;
    virtual int unregisterRingFd(io_uring& ring) noexcept;
    // The kernel signals `fd` with each completion, including those that only the ring's thread can fetch.
    virtual int registerEventFd(io_uring& ring, int fd) noexcept;

    // Asks which operations the kernel supports. `answer` is followed by room for `count` entries.
    virtual int registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept;

    // The real kernel calls. Lives for the whole process.
    static UringCalls& kernel() noexcept;
};

}  // namespace weft
