// EpollIoHandler: the edge-triggered epoll transport of one carrier. It dispatches the kernel's events within a budget
// and keeps the rest for the next poll, so that no edge is lost. It must never know what a handle does with its events.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <weft/scheduler/deadline.hpp>
#include <weft/transports/epoll/epoll_handle.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft {

// Context: the carrier's thread, except construction, wakeup() and the factories of SocketIoHandler (any thread).
// Allocates when the event array grows (from 256 up to 4096 events) and when the number of registrations exceeds its
// peak so far.
class EpollIoHandler final : public SocketIoHandler {
  public:
    // Both references must outlive the handler.
    explicit EpollIoHandler(SystemCalls& calls = SystemCalls::kernel(), Clock& clock = Clock::steady()) noexcept;
    ~EpollIoHandler() override { close(); }
    EpollIoHandler(const EpollIoHandler&) = delete;
    EpollIoHandler& operator=(const EpollIoHandler&) = delete;

    // Throws SystemError when the kernel refuses the epoll descriptor.
    void open(Carrier& carrier) override;
    // As open(), for a handler without a carrier (embedded loops, tests). `wakeFd` ends a blocking poll; with -1
    // nothing does.
    void openWithWakeFd(int wakeFd);
    // As open(), for a handler nested in another one, which polls it when pollFd() is readable.
    void openNested(Carrier& carrier);

    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override;
    void wakeup() noexcept override;
    // Events left over from an earlier budget, and handles that requested another dispatch. The kernel reports neither
    // again.
    bool hasWork() const noexcept override {
        return nextReported_ != endReported_ || !batch_.empty() || !next_.empty();
    }
    int pollFd() const noexcept override { return epoll_.get(); }
    // Closes every channel and fiber stream; later registrations fail with operation_aborted.
    void closeChannels() override;
    void prepareToClose() override;
    // True when nothing is registered, or once `closeGrace` has passed since prepareToClose(): a handler that swallows
    // close() must not keep its carrier from ending.
    bool closable() const noexcept override { return registered_ == 0 || clock_.now() >= closeDeadline_; }
    static constexpr Duration closeGrace = std::chrono::seconds(5);
    // Detaches handles that are still registered; their descriptors close when they are destroyed.
    void close() override;

    std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) override;
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildSetup children) override;
    std::unique_ptr<ChannelSink> connector(Fd fd, Channel& channel) override;
    std::unique_ptr<FiberStream> fiberStream(Fd fd) override;
    std::unique_ptr<FiberListener> fiberListener(Fd fd) override;
    std::unique_ptr<FdWatch> watch(Fd fd) override;
    SystemCalls& systemCalls() noexcept override { return calls_; }
    using SocketIoHandler::listener;

    // Throws std::logic_error naming `call` unless called on the handler's carrier.
    void requireHere(const char* call) const;
    // Number of registered descriptors, excluding the wake-up descriptor.
    std::size_t registeredHandles() const noexcept { return registered_; }

  private:
    friend class EpollHandle;

    // The kernel stores (generation, index) and not a pointer. An event for a registration that has ended (for example
    // of a socket that a forked child still holds open) carries an old generation and is dropped.
    struct Slot {
        EpollHandle* handle = nullptr;
        std::uint32_t generation = 0;
    };

    // A handle and the events to dispatch to it.
    struct Due {
        EpollHandle* handle = nullptr;
        std::uint32_t events = 0;

        explicit operator bool() const noexcept { return handle != nullptr; }
    };

    ErrorCode add(EpollHandle& handle);  // operation_aborted once the handler is closing
    void remove(EpollHandle& handle, bool keepOpen) noexcept;
    void requeue(EpollHandle& handle) noexcept;
    void dropEvents(EpollHandle& handle) noexcept;
    void reserveWakeKey();
    std::uint32_t takeSlot();

    void pollKernel(PollGuard* guard, Deadline deadline);
    void growEvents() noexcept;
    int waitForEvents(PollGuard* guard, Deadline deadline) noexcept;
    int epollWait(Deadline deadline) noexcept;
    int pollWithoutWaiting() noexcept;
    EpollHandle* handleOf(const epoll_event& event) const noexcept;
    void collect() noexcept;
    void prefetchReported() const noexcept;
    Due takeNext() noexcept;
    Due takeQueued() noexcept;
    PollResult dispatch(Budget budget);
    std::size_t runnableFibers() const noexcept;
    static void dispatchTo(EpollHandle& handle, std::uint32_t events);
    static void dispatchToOther(EpollHandle& handle, std::uint32_t events);
    static void abort(EpollHandle& handle) noexcept;

    SystemCalls& calls_;
    Clock& clock_;
    Carrier* carrier_ = nullptr;
    Fd epoll_;
    int wakeFd_ = -1;  // owned by the carrier for its whole life: never read, never closed here
    bool hasPwait2_ = true;
    bool refusing_ = false;  // refuses new handles
    bool closing_ = false;
    Deadline closeDeadline_ = never;
    std::size_t registered_ = 0;
    std::vector<epoll_event> events_;
    epoll_event* nextReported_ = nullptr;  // in events_: the next reported event that has not been dispatched
    epoll_event* endReported_ = nullptr;
    const epoll_event* prefetchEnd_ = nullptr;  // a dispatch prefetches while nextReported_ is before this
    std::vector<Slot> slots_;                   // the first has no handle: its key belongs to the wake-up descriptor
    std::vector<std::uint32_t> freeSlots_;
    detail::ReadyList batch_;  // being dispatched, when events go through a list instead of events_
    detail::ReadyList next_;   // handles that requested another dispatch meanwhile
};

}  // namespace weft
