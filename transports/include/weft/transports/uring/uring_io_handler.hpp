// UringIoHandler: the io_uring transport of one carrier; a spike (docs/adr/0009-io-uring-spike.md). It collects what
// the ring has completed into a FIFO of sinks and dispatches from there. It must never know what a sink does with it.
#pragma once

#include <set>

#include <weft/transports/epoll/ready_list.hpp>
#include <weft/transports/socket_io_handler.hpp>

struct io_uring;
struct io_uring_buf_ring;
struct io_uring_sqe;

namespace weft {

class Buffer;
struct UringSink;

// Context: the carrier's thread, except construction, wakeup() and the factories (any thread). SINGLE_ISSUER and
// DEFER_TASKRUN bind the ring to the thread that runs open().
class UringIoHandler final : public SocketIoHandler {
  public:
    // How often the rare branches were taken: a receive ended with ENOBUFS; an input was cancelled because nobody
    // wanted what it brought; pieces came after that and were kept; close() had to wait for completions.
    struct Marks { unsigned buffersRanOut = 0, pauses = 0, latePieces = 0, closesInFlight = 0; };

    // `buffers`: a power of two up to 32768, of `bufferBytes` each, shared by all streams of the carrier.
    explicit UringIoHandler(unsigned buffers = 256, std::size_t bufferBytes = 2048);
    ~UringIoHandler() override;

    // Throws SystemError when io_uring is not permitted here.
    void open(Carrier& carrier) override;
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override;
    void wakeup() noexcept override;
    bool hasWork() const noexcept override;
    void prepareToClose() override;
    // Every operation belongs to a registered sink, so nothing is in flight then (L-6).
    bool closable() const noexcept override { return sinks_.empty(); }
    void close() override;

    std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) override;
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildLoopChooser chooser) override;
    std::unique_ptr<ChannelSink> connector(Fd, Channel&) override { throw std::logic_error("io_uring: not yet"); }
    std::unique_ptr<FiberStream> fiberStream(Fd) override { throw std::logic_error("io_uring: not yet"); }
    std::unique_ptr<FiberListener> fiberListener(Fd) override { throw std::logic_error("io_uring: not yet"); }
    std::unique_ptr<FdWatch> watch(Fd) override { throw std::logic_error("io_uring: not yet"); }
    SystemCalls& systemCalls() noexcept override { return SystemCalls::kernel(); }

    const Marks& marks() const noexcept { return marks_; }

  private:
    friend struct UringSink;
    friend struct UringStream;

    io_uring_sqe& nextEntry(std::uint64_t key) noexcept;
    Buffer exchangeBuffer(unsigned id);
    void enterKernel(PollGuard* guard, Deadline deadline) noexcept;

    const unsigned buffers_;
    const std::size_t bufferBytes_;
    Carrier* carrier_ = nullptr;
    std::unique_ptr<io_uring> ring_;  // null: closed
    io_uring_buf_ring* bufferRing_ = nullptr;
    std::unique_ptr<Buffer[]> slots_;  // the memory that the kernel may receive into, by buffer id
    std::set<UringSink*> sinks_;
    bool closing_ = false;
    Marks marks_;
    detail::ReadyList ready_;
};

}  // namespace weft
