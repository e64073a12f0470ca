// Completions are taken from the ring one by one and passed to their operations. Handles with work that they cannot do
// at once wait in a FIFO, which is dispatched after the completions in the same poll.
#include <weft/transports/uring/uring_io_handler.hpp>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include "cycle_limits.hpp"
#include "uring/uring_buffers.hpp"
#include "uring/uring_connector.hpp"
#include "uring/uring_fiber_listener.hpp"
#include "uring/uring_fiber_stream.hpp"
#include "uring/uring_listener.hpp"
#include "uring/uring_ring.hpp"
#include "uring/uring_send_parts.hpp"
#include "uring/uring_stream.hpp"

namespace weft {

namespace {

constexpr unsigned mostEntries = 32'768;
constexpr unsigned fewestSmall = 16;  // buffers

UringOptions checked(const UringOptions& options) {
    if (options.entries == 0 || options.entries > mostEntries) {
        throw std::invalid_argument("UringOptions::entries is " + std::to_string(options.entries) +
                                    "; accepted: 1 to 32768");
    }
    for (const unsigned buffers : {options.smallBuffers, options.largeBuffers}) {
        if (std::has_single_bit(buffers) && buffers <= mostEntries) continue;
        throw std::invalid_argument("UringOptions: " + std::to_string(buffers) +
                                    " buffers; accepted: a power of two up to 32768");
    }
    return options;
}

}  // namespace

// Watches a descriptor for edges and never reads it.
class UringIoHandler::Signal {
  public:
    Signal(UringRing& ring, int fd) noexcept : operation_(*this), ring_(ring), fd_(fd) {}
    void start() noexcept { ring_.start(operation_); }
    void cancel() noexcept {
        cancelled_ = true;
        ring_.cancel(operation_);
    }
    bool takeRaised() noexcept { return std::exchange(raised_, false); }
    bool raised() const noexcept { return raised_; }
    bool ended() const noexcept { return inFlight_ == 0; }

  private:
    struct Watching : UringOperation {
        explicit Watching(Signal& owner) noexcept : UringOperation(kind, owner.inFlight_), signal(owner) {}
        static const Kind kind;
        Signal& signal;
    };
    void completed(int result, unsigned flags) noexcept {
        if (result >= 0) raised_ = true;
        if ((flags & IORING_CQE_F_MORE) || cancelled_ || result == -ECANCELED) return;
        WEFT_ASSERT(result >= 0 || isToBeDoneAgain(result) || result == -ENOMEM, "io_uring cannot poll an eventfd");
        start();
    }

    unsigned inFlight_ = 0;
    Watching operation_;
    UringRing& ring_;
    const int fd_;
    bool raised_ = false;
    bool cancelled_ = false;  // what has completed meanwhile is not to be started again
};

const UringOperation::Kind UringIoHandler::Signal::Watching::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const int fd = static_cast<Watching&>(operation).signal.fd_;
        io_uring_prep_poll_multishot(&entry, fd, EPOLLIN | EPOLLET);
    },
    [](UringOperation& operation, int result, unsigned flags) {
        static_cast<Watching&>(operation).signal.completed(result, flags);
    },
    false};

UringIoHandler::UringIoHandler(UringOptions options)
    : UringIoHandler(options, UringCalls::kernel(), SystemCalls::kernel()) {}

UringIoHandler::UringIoHandler(UringOptions options, UringCalls& calls, SystemCalls& sockets, Clock& clock)
    : options_(checked(options)),
      sockets_(sockets),
      clock_(clock),
      ring_(std::make_unique<UringRing>(calls, counters_)),
      small_(std::make_unique<UringBuffers>(
          *ring_, 0,
          UringBuffers::Sizes{std::min(options_.smallBuffers, fewestSmall), options.smallBuffers, smallBytes, false})),
      large_(std::make_unique<UringBuffers>(*ring_, 1, UringBuffers::Sizes{0, options.largeBuffers, largeBytes, true})),
      nested_(std::make_unique<EpollIoHandler>(sockets, clock)) {}

UringIoHandler::~UringIoHandler() {
    close();
}

// Not in the constructor, because destroying a ring interrupts a blocking call of the thread that made it (EINTR), and
// that thread would be the application's (docs/adr/0009).
void UringIoHandler::open(Carrier& carrier) {
    carrier_ = &carrier;
    ring_->open(options_.entries);
    try {
        small_->open();
        large_->open();
        nested_->openNested(carrier);
        wake_ = std::make_unique<Signal>(*ring_, carrier.wakeFd());
        nestedReady_ = std::make_unique<Signal>(*ring_, nested_->pollFd());
    } catch (...) {
        close();
        throw;
    }
    wake_->start();
    nestedReady_->start();
}

// ---- a poll ----

PollResult UringIoHandler::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    if (completions_) clearCompletions();
    small_->adjust();
    large_->adjust();
    if (batch_.empty() && !ring_->hasCompletions()) {
        enterKernel(guard, std::min(deadline, closeDeadline_));
    } else {
        ring_->submitAndFetch();
    }
    return dispatch(budget);
}

// Called before the ring is checked, so that completions after the check signal again.
void UringIoHandler::clearCompletions() noexcept {
    std::uint64_t count = 0;
    static_cast<void>(::read(completions_.get(), &count, sizeof count));  // EAGAIN: no signal
}

void UringIoHandler::enterKernel(PollGuard* guard, Deadline deadline) noexcept {
    const bool nothingToWaitFor = !ready_.empty() || nested_->hasWork() || (closing_ && closable());
    if (!guard || nothingToWaitFor || !guard->enter()) return ring_->submitAndFetch();
    Duration atMost = deadline == never ? Duration::max() : std::max<Duration>(deadline - clock_.now(), {});
    if (small_->hasGrown() || large_->hasGrown()) atMost = std::min<Duration>(atMost, UringBuffers::idleTime);
    ring_->wait(atMost);
    const bool found = ring_->hasCompletions();
    guard->leave(found);
    if (found) return;
    small_->noteIdle(atMost);
    large_->noteIdle(atMost);
}

// Tracks how much of its budget a poll has used.
class UringIoHandler::Spending {
  public:
    Spending(const Carrier& carrier, Clock& clock, Budget budget)
        : carrier_(carrier),
          clock_(clock),
          end_(deadlineAfter(clock.now(), budget.time)),
          most_(budget.events),
          nextCheck_(std::min(budget.events, detail::eventsPerClockRead)) {
        const std::size_t waiting = carrier.runnableFibers();
        enoughFibers_ = waiting + std::min(budget.fibers, ~waiting);
    }
    unsigned events() const noexcept { return events_; }
    bool over() const noexcept { return over_; }
    void count() {
        if (++events_ == nextCheck_ || carrier_.runnableFibers() >= enoughFibers_) [[unlikely]]
            check();
    }

  private:
    void check() {
        over_ = events_ >= most_ || carrier_.runnableFibers() >= enoughFibers_ || clock_.now() >= end_;
        nextCheck_ += std::min(most_ - events_, detail::eventsPerClockRead);
    }

    const Carrier& carrier_;
    Clock& clock_;
    const TimePoint end_;
    const unsigned most_;
    unsigned nextCheck_;
    std::size_t enoughFibers_;
    unsigned events_ = 0;
    bool over_ = false;
};

PollResult UringIoHandler::dispatch(Budget budget) {
    Spending spending(*carrier_, clock_, budget);
    dispatchBatch(spending);  // leftovers of the last budget come before new events
    for (bool isEvent = false; !spending.over() && ring_->dispatchNext(isEvent);) {
        if (isEvent) spending.count();
    }
    if (!spending.over()) {
        batch_.takeAll(ready_);
        dispatchBatch(spending);
    }
    PollResult result;
    result.events = spending.events();
    if (!spending.over() && (nestedReady_->takeRaised() || nested_->hasWork())) {
        result.events += nested_->poll(nullptr, never, budget).events;
    }
    result.more = hasWork();
    return result;
}

void UringIoHandler::dispatchBatch(Spending& spending) {
    while (!spending.over()) {
        detail::ReadyLink* const next = batch_.popFirst();
        if (next == nullptr) return;
        static_cast<UringHandle&>(*next).dispatch();
        spending.count();
    }
}

// When nested, the carrier may sleep in the ring or in the outer poller. The latter needs a write of its own: the
// kernel defers an eventfd's signal that is caused by a write to another eventfd.
void UringIoHandler::wakeup() noexcept {
    carrier_->writeWakeFd();
    const int nested = nestedFd_.load(std::memory_order_acquire);  // [U1]
    if (nested < 0) return;
    const std::uint64_t one = 1;
    sockets_.write(nested, &one, sizeof one);
}

bool UringIoHandler::hasWork() const noexcept {
    if (!batch_.empty() || !ready_.empty() || nested_->hasWork()) return true;
    if (!ring_->isOpen()) return false;
    // A loop that sleeps in this ring submits entries by the same call; one that sleeps in an outer poller does not.
    return ring_->hasCompletions() || nestedReady_->raised() || (completions_ && ring_->hasEntries());
}

int UringIoHandler::pollFd() const noexcept {
    if (!completions_ && ring_->isOpen() && Carrier::current() == carrier_) {
        Fd created(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (created && ring_->calls().registerEventFd(ring_->native(), created.get()) == 0) {
            completions_ = std::move(created);
            nestedFd_.store(completions_.get(), std::memory_order_release);  // [U1]
        }
    }
    return completions_.get();
}

// ---- factories and users ----

std::unique_ptr<ChannelSink> UringIoHandler::stream(Fd fd, Channel& channel) {
    return std::make_unique<UringStream>(*this, std::move(fd), channel);
}

std::unique_ptr<ChannelSink> UringIoHandler::listener(Fd fd, Channel& channel, ChildSetup children) {
    return std::make_unique<UringListener>(*this, std::move(fd), channel, std::move(children));
}

std::unique_ptr<ChannelSink> UringIoHandler::connector(Fd fd, Channel& channel) {
    return std::make_unique<UringConnector>(*this, std::move(fd), channel);
}

std::unique_ptr<FiberStream> UringIoHandler::fiberStream(Fd fd) {
    return std::make_unique<UringFiberStream>(*this, std::move(fd));
}

std::unique_ptr<FiberListener> UringIoHandler::fiberListener(Fd fd) {
    return std::make_unique<UringFiberListener>(*this, std::move(fd));
}

std::unique_ptr<FdWatch> UringIoHandler::watch(Fd fd) {
    return nested_->watch(std::move(fd));
}

void UringIoHandler::noteRanOut(UringBuffers& buffers) noexcept {
    ++counters_.buffersRanOut;
    buffers.noteRanOut();
}

std::unique_ptr<UringSendParts> UringIoHandler::takeParts() {
    if (!parts_) return std::make_unique<UringSendParts>();
    std::unique_ptr<UringSendParts> taken = std::move(parts_);
    parts_ = std::move(taken->next);
    return taken;
}

void UringIoHandler::giveParts(std::unique_ptr<UringSendParts> parts) noexcept {
    parts->next = std::move(parts_);
    parts_ = std::move(parts);
}

ErrorCode UringIoHandler::add(UringHandle& handle) noexcept {
    if (refusing_) return operationAborted();
    handles_.append(handle.registration_);
    return {};
}

UringCounters UringIoHandler::counters() const noexcept {
    UringCounters now = counters_;
    now.bufferBytes = small_->provided() * small_->bytes() + large_->provided() * large_->bytes();
    return now;
}

// ---- shutdown ----

void UringIoHandler::closeChannels() {
    refusing_ = true;
    abortAll();
    nested_->closeChannels();  // and the channels that were deregistered
}

// A close may run code that closes other handles.
void UringIoHandler::abortAll() noexcept {
    detail::ReadyList left;
    left.takeAll(handles_);
    while (detail::ReadyLink* const next = left.popFirst()) {
        handles_.append(*next);
        static_cast<UringHandle::Registration&>(*next).handle.abort();
    }
}

void UringIoHandler::prepareToClose() {
    closing_ = true;
    closeDeadline_ = deadlineAfter(clock_.now(), closeGrace);
    closeChannels();
    nested_->prepareToClose();
}

bool UringIoHandler::closable() const noexcept {
    return (handles_.empty() && nested_->closable()) || clock_.now() >= closeDeadline_;
}

void UringIoHandler::close() {
    closing_ = refusing_ = true;
    if (ring_->isOpen()) {
        endOperations();
        while (detail::ReadyLink* const next = handles_.popFirst())
            static_cast<UringHandle::Registration&>(*next).handle.cutOff();
        small_->close();
        large_->close();
        ring_->close();
    }
    nested_->close();
    // Iterative, because freeing a long list through its destructors would recurse.
    while (parts_) parts_ = std::move(parts_->next);
}

// The kernel may write to the memory of an operation until it has completed. All of them complete soon after they are
// cancelled.
void UringIoHandler::endOperations() noexcept {
    if (wake_) wake_->cancel();
    if (nestedReady_) nestedReady_->cancel();
    abortAll();
    const auto anyInFlight = [this] {
        if ((wake_ && !wake_->ended()) || (nestedReady_ && !nestedReady_->ended())) return true;
        bool any = false;
        handles_.forEach([&any](detail::ReadyLink& link) {
            any |= static_cast<UringHandle::Registration&>(link).handle.inFlight_ != 0;
        });
        return any;
    };
    while (anyInFlight()) {
        if (!ring_->hasCompletions()) ring_->wait(std::chrono::milliseconds(100));
        for (bool isEvent = false; ring_->dispatchNext(isEvent);) {
        }
    }
}

}  // namespace weft
