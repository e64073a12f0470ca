// Events are dispatched from the array that the kernel filled; those beyond a budget stay there for the next poll.
// Handles that requested another dispatch wait in a FIFO. When there are any, new events are merged into that FIFO, so
// that each handle is dispatched once. A handle that closes unlinks itself and changes the generation of its slot, so
// that its remaining events are dropped.
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/prefetch.hpp>
#include <weft/scheduler/errors.hpp>

#include "cycle_limits.hpp"
#include "epoll/epoll_connector.hpp"
#include "epoll/epoll_fd_watch.hpp"
#include "epoll/epoll_fiber_listener.hpp"
#include "epoll/epoll_fiber_stream.hpp"
#include "epoll/epoll_listener.hpp"
#include "epoll/epoll_stream.hpp"
#include "fiber_home.hpp"

namespace weft {

namespace {

constexpr std::size_t initialEvents = 256;
constexpr std::size_t maximumEvents = 4096;
constexpr std::size_t cachedHandles = 256;
constexpr std::uint32_t interest = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr std::uint64_t wakeKey = 0;  // the first slot, which never has a handle

std::uint64_t keyOf(std::uint32_t index, std::uint32_t generation) noexcept {
    return std::uint64_t{generation} << 32 | index;
}

timespec toTimespec(Duration duration) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
    return {static_cast<time_t>(seconds.count()), static_cast<long>((duration - seconds).count())};
}

// Rounds up, because a wait that ends early would spin for the rest of the millisecond.
int toMillisecondsRoundedUp(Duration duration) noexcept {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
    return static_cast<int>(std::min<long long>(milliseconds, INT_MAX));
}

}  // namespace

EpollIoHandler::EpollIoHandler(SystemCalls& calls, Clock& clock) noexcept : calls_(calls), clock_(clock) {}

void EpollIoHandler::open(Carrier& carrier) {
    openWithWakeFd(carrier.wakeFd());
    carrier_ = &carrier;
}

void EpollIoHandler::openNested(Carrier& carrier) {
    openWithWakeFd(-1);
    carrier_ = &carrier;
}

void EpollIoHandler::openWithWakeFd(int wakeFd) {
    const int fd = calls_.epollCreate1(EPOLL_CLOEXEC);
    if (fd < 0) throw SystemError(fromErrno(-fd), "epoll_create1");
    epoll_ = Fd(fd, calls_);
    wakeFd_ = wakeFd;
    events_.resize(initialEvents);
    reserveWakeKey();
    if (wakeFd_ < 0) return;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;  // never read: each write is a new edge
    event.data.u64 = wakeKey;
    const int result = calls_.epollCtl(epoll_.get(), EPOLL_CTL_ADD, wakeFd_, &event);
    if (result < 0) throw SystemError(fromErrno(-result), "epoll_ctl: wake-up descriptor");
}

PollResult EpollIoHandler::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    // Events left over from the last budget come before new ones, which keeps the queue bounded by the number of
    // handles.
    if (nextReported_ == endReported_ && batch_.empty()) {
        batch_.takeAll(next_);
        pollKernel(guard, std::min(deadline, closeDeadline_));
        if (!batch_.empty()) collect();
    }
    return dispatch(budget);
}

void EpollIoHandler::pollKernel(PollGuard* guard, Deadline deadline) {
    const bool wasFull = endReported_ == events_.data() + events_.size();
    if (wasFull && events_.size() < maximumEvents) growEvents();
    const int count = waitForEvents(guard, deadline);
    nextReported_ = events_.data();
    endReported_ = nextReported_ + count;
    // The handles of few sockets stay in the cache.
    const bool prefetches = count > 1 && registered_ > cachedHandles;
    prefetchEnd_ = prefetches ? endReported_ - 1 : nextReported_;
}

void EpollIoHandler::growEvents() noexcept {
    try {
        events_.resize(events_.size() * 2);
    } catch (const std::bad_alloc&) {  // a smaller array only costs more calls
    }
}

int EpollIoHandler::waitForEvents(PollGuard* guard, Deadline deadline) noexcept {
    const bool nothingToWaitFor = closing_ && closable();
    if (!guard || !batch_.empty() || nothingToWaitFor || !guard->enter()) return pollWithoutWaiting();
    const int count = epollWait(deadline);
    guard->leave(count > 0);
    return count;
}

int EpollIoHandler::epollWait(Deadline deadline) noexcept {
    const int max = static_cast<int>(events_.size());
    const Duration left = deadline == never ? Duration::max() : std::max<Duration>(deadline - clock_.now(), {});
    if (hasPwait2_) {
        const timespec timeout = toTimespec(left);
        const int count = calls_.epollPwait2(epoll_.get(), events_.data(), max, deadline == never ? nullptr : &timeout);
        if (count >= 0 || count == -EINTR) return std::max(count, 0);
        WEFT_ASSERT(count == -ENOSYS || count == -EPERM, "epoll_pwait2 rejected the handler's arguments");
        hasPwait2_ = false;  // an old kernel, or a sandbox without this call
    }
    const int count =
        calls_.epollWait(epoll_.get(), events_.data(), max, deadline == never ? -1 : toMillisecondsRoundedUp(left));
    WEFT_ASSERT(count >= 0 || count == -EINTR, "epoll_wait rejected the handler's arguments");
    return std::max(count, 0);
}

int EpollIoHandler::pollWithoutWaiting() noexcept {
    const int count = calls_.epollWait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), 0);
    WEFT_ASSERT(count >= 0 || count == -EINTR, "epoll_wait rejected the handler's arguments");
    return std::max(count, 0);
}

// The kernel returns only keys that it was given, and slots are never removed.
inline EpollHandle* EpollIoHandler::handleOf(const epoll_event& event) const noexcept {
    const auto index = static_cast<std::uint32_t>(event.data.u64);
    const auto generation = static_cast<std::uint32_t>(event.data.u64 >> 32);
    WEFT_DEBUG_ASSERT(index < slots_.size(), "epoll reported an unknown key");
    return slots_[index].generation == generation ? slots_[index].handle : nullptr;
}

void EpollIoHandler::collect() noexcept {
    for (; nextReported_ != endReported_; ++nextReported_) {
        EpollHandle* handle = handleOf(*nextReported_);
        if (!handle) continue;
        handle->pending_ |= nextReported_->events;
        if (!handle->linked()) batch_.append(*handle);
    }
}

void EpollIoHandler::dropEvents(EpollHandle& handle) noexcept {
    handle.pending_ = 0;
    for (epoll_event* event = nextReported_; event != endReported_; ++event) {
        if (handleOf(*event) == &handle) event->data.u64 = wakeKey;
    }
}

inline std::size_t EpollIoHandler::runnableFibers() const noexcept {
    return carrier_ ? carrier_->runnableFibers() : 0;
}

// The handle of the event after the next one.
inline void EpollIoHandler::prefetchReported() const noexcept {
    if (nextReported_ >= prefetchEnd_) return;
    const auto index = static_cast<std::uint32_t>(nextReported_[1].data.u64);
    detail::prefetchLines(slots_[index].handle, 2);
}

// Precondition: the batch is empty, or no reported event is left.
inline EpollIoHandler::Due EpollIoHandler::takeNext() noexcept {
    while (nextReported_ != endReported_) {
        const epoll_event& event = *nextReported_++;
        prefetchReported();
        if (EpollHandle* handle = handleOf(event)) {
            handle->unlink();  // another handle of this batch has requested a dispatch of it
            return {handle, event.events};
        }
    }
    return takeQueued();
}

[[gnu::noinline]] EpollIoHandler::Due EpollIoHandler::takeQueued() noexcept {
    detail::ReadyLink* link = batch_.popFirst();
    if (!link) return {};
    EpollHandle& handle = static_cast<EpollHandle&>(*link);
    return {&handle, std::exchange(handle.pending_, 0)};
}

PollResult EpollIoHandler::dispatch(Budget budget) {
    PollResult result;
    if (nextReported_ == endReported_ && batch_.empty()) return result;
    // So few events finish before the first read of the clock.
    const bool few = batch_.empty() && endReported_ - nextReported_ <= detail::eventsPerClockRead;
    const TimePoint end = few ? never : deadlineAfter(clock_.now(), budget.time);
    const std::size_t waiting = runnableFibers();
    const std::size_t enoughFibers = waiting + std::min(budget.fibers, ~waiting);
    unsigned nextLook = std::min(budget.events, detail::eventsPerClockRead);
    while (const Due due = takeNext()) {
        dispatchTo(*due.handle, due.events);
        ++result.events;
        if (runnableFibers() >= enoughFibers) break;
        if (result.events == nextLook) [[unlikely]] {
            if (result.events == budget.events || clock_.now() >= end) break;
            nextLook += std::min(budget.events - nextLook, detail::eventsPerClockRead);
        }
    }
    result.more = hasWork();
    return result;
}

inline void EpollIoHandler::dispatchTo(EpollHandle& handle, std::uint32_t events) {
    if (handle.kind_ == EpollHandleKind::stream) [[likely]]
        return static_cast<EpollStream&>(handle).onEvents(events);
    dispatchToOther(handle, events);
}

[[gnu::noinline]] void EpollIoHandler::dispatchToOther(EpollHandle& handle, std::uint32_t events) {
    switch (handle.kind_) {
        case EpollHandleKind::stream: return;
        case EpollHandleKind::connector: return static_cast<EpollConnector&>(handle).onEvents(events);
        case EpollHandleKind::listener: return static_cast<EpollListener&>(handle).onEvents(events);
        case EpollHandleKind::fiberStream: return static_cast<EpollFiberStream&>(handle).onEvents(events);
        case EpollHandleKind::fiberListener: return static_cast<EpollFiberListener&>(handle).onEvents(events);
        case EpollHandleKind::fdWatch: return static_cast<EpollFdWatch&>(handle).onEvents(events);
    }
}

void EpollIoHandler::abort(EpollHandle& handle) noexcept {
    switch (handle.kind_) {
        case EpollHandleKind::stream:
        case EpollHandleKind::connector: return static_cast<EpollStream&>(handle).closeChannel();
        case EpollHandleKind::listener: return static_cast<EpollListener&>(handle).closeChannel();
        case EpollHandleKind::fiberStream: return static_cast<EpollFiberStream&>(handle).close();
        case EpollHandleKind::fiberListener: return static_cast<EpollFiberListener&>(handle).close();
        case EpollHandleKind::fdWatch: return static_cast<EpollFdWatch&>(handle).close();
    }
}

void EpollIoHandler::wakeup() noexcept {
    if (carrier_) return carrier_->writeWakeFd();
    const std::uint64_t one = 1;
    if (wakeFd_ >= 0) calls_.write(wakeFd_, &one, sizeof one);
}

std::unique_ptr<ChannelSink> EpollIoHandler::stream(Fd fd, Channel& channel) {
    return std::make_unique<EpollStream>(*this, std::move(fd), channel);
}

std::unique_ptr<ChannelSink> EpollIoHandler::listener(Fd fd, Channel& channel, ChildSetup children) {
    return std::make_unique<EpollListener>(*this, std::move(fd), channel, std::move(children));
}

std::unique_ptr<ChannelSink> EpollIoHandler::connector(Fd fd, Channel& channel) {
    return std::make_unique<EpollConnector>(*this, std::move(fd), channel);
}

std::unique_ptr<FiberStream> EpollIoHandler::fiberStream(Fd fd) {
    return std::make_unique<EpollFiberStream>(*this, std::move(fd));
}

std::unique_ptr<FiberListener> EpollIoHandler::fiberListener(Fd fd) {
    return std::make_unique<EpollFiberListener>(*this, std::move(fd));
}

std::unique_ptr<FdWatch> EpollIoHandler::watch(Fd fd) {
    return std::make_unique<EpollFdWatch>(*this, std::move(fd));
}

void EpollIoHandler::requireHere(const char* call) const {
    if (carrier_) detail::requireHome(*carrier_, call);
}

void EpollIoHandler::prepareToClose() {
    closing_ = true;
    closeDeadline_ = deadlineAfter(clock_.now(), closeGrace);
    closeChannels();
}

void EpollIoHandler::closeChannels() {
    refusing_ = true;
    for (std::size_t index = 0; index < slots_.size(); ++index) {  // a close may run code that adds or closes handles
        if (EpollHandle* handle = slots_[index].handle) abort(*handle);
    }
    closeUnpolled(carrier_);
}

void EpollIoHandler::close() {
    closing_ = refusing_ = true;
    for (std::size_t index = 0; index < slots_.size(); ++index) {
        if (EpollHandle* handle = slots_[index].handle) remove(*handle, false);
    }
    epoll_.close();
}

ErrorCode EpollIoHandler::add(EpollHandle& handle) {
    if (refusing_) return operationAborted();
    const std::uint32_t index = takeSlot();
    Slot& slot = slots_[index];
    epoll_event event{};
    event.events = interest;
    event.data.u64 = keyOf(index, slot.generation);
    const int result = calls_.epollCtl(epoll_.get(), EPOLL_CTL_ADD, handle.fd(), &event);
    if (result < 0) {
        freeSlots_.push_back(index);
        return fromErrno(-result);
    }
    slot.handle = &handle;
    handle.slot_ = index;
    ++registered_;
    return {};
}

void EpollIoHandler::remove(EpollHandle& handle, bool keepOpen) noexcept {
    if (keepOpen) calls_.epollCtl(epoll_.get(), EPOLL_CTL_DEL, handle.fd(), nullptr);
    Slot& slot = slots_[handle.slot_];
    slot.handle = nullptr;
    ++slot.generation;
    freeSlots_.push_back(handle.slot_);  // cannot allocate: takeSlot() reserved capacity
    handle.slot_ = EpollHandle::noSlot;
    handle.pending_ = 0;
    handle.unlink();
    --registered_;
}

void EpollIoHandler::requeue(EpollHandle& handle) noexcept {
    if (handle.linked()) return;
    next_.append(handle);
}

void EpollIoHandler::reserveWakeKey() {
    if (slots_.empty()) slots_.emplace_back();
}

std::uint32_t EpollIoHandler::takeSlot() {
    if (freeSlots_.empty()) {
        reserveWakeKey();
        slots_.emplace_back();
        freeSlots_.reserve(slots_.capacity());
        return static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t index = freeSlots_.back();
    freeSlots_.pop_back();
    return index;
}

}  // namespace weft
