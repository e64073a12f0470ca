// UringIoHandler: the io_uring transport of one carrier. One system call submits the entries that its sockets have
// queued and waits for completions, which are dispatched within a budget. It must never know what an operation is for.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include <weft/scheduler/deadline.hpp>
#include <weft/transports/detail/ready_list.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/uring/uring_counters.hpp>

namespace weft {

class EpollIoHandler;
class UringBuffers;
class UringCalls;
class UringHandle;
class UringOperation;
class UringRing;
class UringSendParts;

// Limits per carrier. The kernel receives into buffers that it is given in advance: few at rest, up to these numbers
// under load. Buffers that stay unused for a second are taken back where the kernel supports it (6.1 and later). Bytes
// for which no buffer is free wait in their socket.
struct UringOptions {
    unsigned entries = 256;       // size of the submission queue, 1 to 32768
    unsigned smallBuffers = 256;  // of 2 KiB each: the maximum (16 at rest); a power of two up to 32768
    unsigned largeBuffers = 8;    // of 64 KiB each: the maximum (0 at rest), for channels with large reads; as above
};

// Context: the carrier's thread, except construction, wakeup() and the factories of SocketIoHandler (any thread). The
// kernel binds the ring to the thread that runs open(). Needs Linux 6.0 or later (multishot receive).
class UringIoHandler final : public SocketIoHandler {
  public:
    static constexpr std::size_t smallBytes = 2 * 1024, largeBytes = 64 * 1024;
    static constexpr Duration closeGrace = std::chrono::seconds(5);

    // All references must outlive the handler. Throws std::invalid_argument for options out of range.
    explicit UringIoHandler(UringOptions options = {});
    UringIoHandler(UringOptions options, UringCalls& calls, SystemCalls& sockets, Clock& clock = Clock::steady());
    ~UringIoHandler() override;
    UringIoHandler(const UringIoHandler&) = delete;
    UringIoHandler& operator=(const UringIoHandler&) = delete;

    // Throws SystemError when the kernel refuses the ring.
    void open(Carrier& carrier) override;
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override;
    void wakeup() noexcept override;
    bool hasWork() const noexcept override;
    // An eventfd that the kernel signals with each completion, starting with the first call of this function. The
    // ring's own descriptor does not wake an outer poller. -1 when the handler is not open or the kernel refuses.
    // Context: the carrier.
    int pollFd() const noexcept override;
    // Closes every channel and fiber stream; later registrations fail with operation_aborted.
    void closeChannels() override;
    void prepareToClose() override;
    // True when nothing is registered or in flight, or once `closeGrace` has passed since prepareToClose(): a handler
    // that swallows close() must not keep its carrier from ending.
    bool closable() const noexcept override;
    // Ends the operations of handles that are still registered, then detaches the handles.
    void close() override;

    std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) override;
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildSetup children) override;
    std::unique_ptr<ChannelSink> connector(Fd fd, Channel& channel) override;
    std::unique_ptr<FiberStream> fiberStream(Fd fd) override;
    std::unique_ptr<FiberListener> fiberListener(Fd fd) override;
    std::unique_ptr<FdWatch> watch(Fd fd) override;
    SystemCalls& systemCalls() noexcept override { return sockets_; }
    using SocketIoHandler::listener;

    UringCounters counters() const noexcept;

  private:
    friend class UringFiberReader;
    friend class UringHandle;
    friend class UringStream;
    class Signal;
    class Spending;

    UringRing& ring() noexcept { return *ring_; }
    UringBuffers& small() noexcept { return *small_; }
    UringBuffers& large() noexcept { return *large_; }
    void noteRanOut(UringBuffers& buffers) noexcept;
    std::unique_ptr<UringSendParts> takeParts();  // throws std::bad_alloc
    void giveParts(std::unique_ptr<UringSendParts> parts) noexcept;

    ErrorCode add(UringHandle& handle) noexcept;
    void clearCompletions() noexcept;
    void enterKernel(PollGuard* guard, Deadline deadline) noexcept;
    PollResult dispatch(Budget budget);
    void dispatchBatch(Spending& spending);
    void abortAll() noexcept;
    void endOperations() noexcept;

    const UringOptions options_;
    SystemCalls& sockets_;
    Clock& clock_;
    Carrier* carrier_ = nullptr;
    UringCounters counters_;
    std::unique_ptr<UringRing> ring_;
    std::unique_ptr<UringBuffers> small_;
    std::unique_ptr<UringBuffers> large_;
    std::unique_ptr<EpollIoHandler> nested_;  // for FdWatch: descriptors that Weft does not read itself
    std::unique_ptr<Signal> wake_;            // the carrier's wake-up descriptor
    std::unique_ptr<Signal> nestedReady_;
    std::unique_ptr<UringSendParts> parts_;  // made when nested under another poller: see pollFd(); open to the end
    mutable Fd completions_;                 // made when nested under another poller: see pollFd(); open to the end
    mutable std::atomic<int> nestedFd_{-1};  // the same for wakeup(): written once by the carrier, read by any thread
    detail::ReadyList handles_;              // registered
    detail::ReadyList batch_;                // being dispatched
    detail::ReadyList ready_;                // requested a dispatch meanwhile
    bool refusing_ = false;                  // refuses new handles
    bool closing_ = false;
    Deadline closeDeadline_ = never;
};

}  // namespace weft
