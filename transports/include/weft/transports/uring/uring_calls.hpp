// UringCalls: the system calls of io_uring, which tests replace with a script. It must know no operation and no policy;
// it costs one indirect call.
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

    virtual int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept = 0;
    virtual void exit(io_uring& ring) noexcept = 0;
    // Submits the queued entries and waits for a completion or until `timeout` has passed (null: no limit).
    virtual int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept = 0;
    // Submits the queued entries and fetches completions, without waiting.
    virtual int submitAndGetEvents(io_uring& ring) noexcept = 0;
    virtual int registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept = 0;
    virtual int unregisterBufferRing(io_uring& ring, int group) noexcept = 0;
    virtual int registerRingFd(io_uring& ring) noexcept = 0;
    virtual int unregisterRingFd(io_uring& ring) noexcept = 0;
    // The kernel signals `fd` with each completion, including those that only the ring's thread can fetch.
    virtual int registerEventFd(io_uring& ring, int fd) noexcept = 0;

    // Asks which operations the kernel supports. `answer` is followed by room for `count` entries.
    virtual int registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept = 0;

    // The real kernel calls. Lives for the whole process.
    static UringCalls& kernel() noexcept;
};

// Forwards each call to the kernel. Derive from it and override the calls that should differ.
class ForwardingUringCalls : public UringCalls {
  public:
    int setup(unsigned entries, io_uring& ring, io_uring_params& parameters) noexcept override {
        return kernel_.setup(entries, ring, parameters);
    }
    void exit(io_uring& ring) noexcept override { kernel_.exit(ring); }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        return kernel_.submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override { return kernel_.submitAndGetEvents(ring); }
    int registerBufferRing(io_uring& ring, io_uring_buf_reg& registration) noexcept override {
        return kernel_.registerBufferRing(ring, registration);
    }
    int unregisterBufferRing(io_uring& ring, int group) noexcept override {
        return kernel_.unregisterBufferRing(ring, group);
    }
    int registerRingFd(io_uring& ring) noexcept override { return kernel_.registerRingFd(ring); }
    int unregisterRingFd(io_uring& ring) noexcept override { return kernel_.unregisterRingFd(ring); }
    int registerEventFd(io_uring& ring, int fd) noexcept override { return kernel_.registerEventFd(ring, fd); }
    int registerProbe(io_uring& ring, io_uring_probe& answer, unsigned count) noexcept override {
        return kernel_.registerProbe(ring, answer, count);
    }

  private:
    UringCalls& kernel_ = UringCalls::kernel();
};

}  // namespace weft
