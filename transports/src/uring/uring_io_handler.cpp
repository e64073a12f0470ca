// One ring, one buffer ring. A key is a sink's address with the operation in its low bits; 0: nobody waits; 1: wake-up.
#include <weft/transports/uring/uring_io_handler.hpp>

#include <sys/epoll.h>
#include <sys/mman.h>

#include <weft/scheduler/carrier.hpp>

#include "uring/uring_sink.hpp"

namespace weft {

UringIoHandler::UringIoHandler(unsigned buffers, std::size_t bufferBytes)
    : buffers_(buffers), bufferBytes_(bufferBytes), slots_(std::make_unique<Buffer[]>(buffers)) {}

UringIoHandler::~UringIoHandler() { close(); }

// Not in the constructor, with R_DISABLED: the end of a ring interrupts a blocking call of the thread that made it
// (EINTR), and that would be the application's.
void UringIoHandler::open(Carrier& carrier) {
    carrier_ = &carrier;
    auto ring = std::make_unique<io_uring>();
    constexpr unsigned flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
    int result = io_uring_queue_init(256, ring.get(), flags | IORING_SETUP_SUBMIT_ALL);
    if (result < 0) throw SystemError(fromErrno(-result), "io_uring_setup");
    ring_ = std::move(ring);
    const std::size_t size = buffers_ * sizeof(io_uring_buf);
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    bufferRing_ = static_cast<io_uring_buf_ring*>(memory);
    io_uring_buf_reg registration{reinterpret_cast<std::uint64_t>(memory), buffers_, 0, 0, {}};
    result = io_uring_register_buf_ring(ring_.get(), &registration, 0);
    if (result < 0) throw SystemError(fromErrno(-result), "io_uring_register: buffer ring");
    for (unsigned id = 0; id < buffers_; ++id) exchangeBuffer(id);
    // Edge-triggered and never read: each write completes once more.
    io_uring_prep_poll_multishot(&nextEntry(UringSink::wakeKey), carrier_->wakeFd(), EPOLLIN | EPOLLET);
}

io_uring_sqe& UringIoHandler::nextEntry(std::uint64_t key) noexcept {
    if (io_uring_sq_space_left(ring_.get()) == 0) io_uring_submit(ring_.get());  // what is there goes out early
    io_uring_sqe* entry = io_uring_get_sqe(ring_.get());
    WEFT_ASSERT(entry != nullptr, "the submission ring does not take entries");
    io_uring_sqe_set_data64(entry, key);
    return *entry;
}

// The kernel receives straight into a block of the buffer pool; what it has filled goes up as it is, and a fresh block
// takes its place. Nothing is copied, and a handler that keeps the bytes keeps nothing of the ring.
Buffer UringIoHandler::exchangeBuffer(unsigned id) {
    Buffer full = std::exchange(slots_[id], Buffer::allocate(bufferBytes_));
    io_uring_buf_ring_add(bufferRing_, slots_[id].writeData(), static_cast<unsigned>(bufferBytes_),
                          static_cast<unsigned short>(id), io_uring_buf_ring_mask(buffers_), 0);
    io_uring_buf_ring_advance(bufferRing_, 1);
    return full;
}

PollResult UringIoHandler::poll(PollGuard* guard, Deadline deadline, Budget budget) {
    enterKernel(guard, deadline);
    unsigned head = 0, count = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(ring_.get(), head, completion) {
        ++count;
        const std::uint64_t key = completion->user_data;
        if (key == UringSink::wakeKey && !(completion->flags & IORING_CQE_F_MORE))
            io_uring_prep_poll_multishot(&nextEntry(key), carrier_->wakeFd(), EPOLLIN | EPOLLET);
        if (key <= UringSink::wakeKey) continue;
        auto* sink = reinterpret_cast<UringSink*>(key & ~UringSink::output);
        sink->complete(key & UringSink::output, completion->res, completion->flags);
    }
    io_uring_cq_advance(ring_.get(), count);
    PollResult result;
    const TimePoint end = deadlineAfter(budget.time);
    const std::size_t waiting = carrier_->runnableFibers();
    const std::size_t enoughFibers = waiting + std::min(budget.fibers, ~waiting);
    while (detail::ReadyLink* link = ready_.popFirst()) {
        static_cast<UringSink*>(link)->dispatch();
        if (++result.events >= budget.events || carrier_->runnableFibers() >= enoughFibers) break;
        if (Clock::steady().now() >= end) break;
    }
    result.more = !ready_.empty();
    return result;
}

// One call submits all and waits; none is made when there is nothing to submit and nothing has happened.
void UringIoHandler::enterKernel(PollGuard* guard, Deadline deadline) noexcept {
    const bool nothingToWaitFor = !ready_.empty() || (closing_ && closable()) || io_uring_cq_ready(ring_.get()) > 0;
    if (guard && !nothingToWaitFor && guard->enter()) {
        const Duration left = deadline == never ? Duration() : std::max(deadline - Clock::steady().now(), Duration());
        __kernel_timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
        io_uring_cqe* first = nullptr;
        io_uring_submit_and_wait_timeout(ring_.get(), &first, 1, deadline == never ? nullptr : &timeout, nullptr);
        guard->leave();
    } else if (io_uring_sq_ready(ring_.get()) > 0 || IO_URING_READ_ONCE(*ring_->sq.kflags) != 0) {
        io_uring_submit_and_get_events(ring_.get());
    }
}

void UringIoHandler::wakeup() noexcept { carrier_->writeWakeFd(); }

bool UringIoHandler::hasWork() const noexcept {
    return !ready_.empty() || (ring_ && io_uring_cq_ready(ring_.get()) > 0);
}

std::unique_ptr<ChannelSink> UringIoHandler::stream(Fd fd, Channel& channel) {
    return std::make_unique<UringStream>(*this, std::move(fd), channel);
}

std::unique_ptr<ChannelSink> UringIoHandler::listener(Fd fd, Channel& channel, ChildLoopChooser chooser) {
    return std::make_unique<UringListener>(*this, std::move(fd), channel, std::move(chooser));
}

void UringIoHandler::prepareToClose() {
    closing_ = true;
    for (UringSink* sink : std::set(sinks_)) sink->channel_.close(ChannelPromise());
}

void UringIoHandler::close() {
    if (!ring_) return;
    WEFT_ASSERT(sinks_.empty(), "close() while operations may be in flight");
    if (bufferRing_) io_uring_unregister_buf_ring(ring_.get(), 0);
    if (bufferRing_) ::munmap(bufferRing_, buffers_ * sizeof(io_uring_buf));
    io_uring_queue_exit(ring_.get());
    ring_.reset();
}

}  // namespace weft
