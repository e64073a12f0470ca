// The ChannelSinks of io_uring, owned by their channels. UringSink is what both have in common: one multishot input
// that runs until somebody does not want it, a queue of what it brought, and an end that waits for the last completion.
#pragma once

#include <liburing.h>

#include <weft/pipeline/channel.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

namespace weft {

// complete() only notes what has come; dispatch() calls up: no user code runs while the completion ring is read.
// The kernel may use this memory while inFlight_ > 0; the channel cannot go before close()'s promise is completed.
struct UringSink : ChannelSink, detail::ReadyLink {
    static constexpr std::uint64_t input = 0, wakeKey = 1, output = 2, queueLimit = 64;

    // An input is paused when `queueLimit` pieces wait. `leastPiece`: the least result that is a piece of the input.
    UringSink(UringIoHandler& handler, Fd fd, Channel& channel, int leastPiece) noexcept
        : handler_(handler), channel_(channel), fd_(std::move(fd)), leastPiece_(leastPiece) {}
    ~UringSink() override { WEFT_ASSERT(inFlight_ == 0, "a sink was destroyed while the kernel uses its memory"); }

    void registered() override {
        if (handler_.closing_) throw SystemError(operationAborted(), "io_uring");
        handler_.sinks_.insert(this);
    }
    // Off does nothing yet: the first piece that nobody wants pauses the input. A toggle without traffic is free.
    void wantRead(bool on) override {
        wantsInput_ = on;
        if (on) requeue();
    }
    // L-6: cancel, reap, close. An operation in flight holds the connection open, whatever happens to the descriptor.
    void close(ChannelPromise promise) override {
        closing_ = true;
        closed_ = std::move(promise);
        if (inFlight_ == 0) return finishClosing();
        ++handler_.marks_.closesInFlight;
        io_uring_prep_cancel_fd(&handler_.nextEntry(0), fd(), IORING_ASYNC_CANCEL_ALL);
    }
    void bind(const SocketAddress&, ChannelPromise promise) override { refuse(promise); }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override { refuse(promise); }
    void flush(OutboundBuffer&) override {}
    void shutdownOutput(ChannelPromise promise) override { refuse(promise); }  // not yet
    void deregister(ChannelPromise promise) override { refuse(promise); }      // not yet
    ErrorCode setOption(SocketOption o, int v) override { return detail::setSocketOption(calls(), fd(), o, v); }
    ErrorCode getOption(SocketOption o, int& v) const override { return detail::getSocketOption(calls(), fd(), o, v); }
    SocketAddress localAddress() const override { return detail::localAddressOf(calls(), fd()); }
    SocketAddress remoteAddress() const override { return detail::remoteAddressOf(calls(), fd()); }

    void complete(bool isOutput, int result, unsigned flags) {
        const bool more = flags & IORING_CQE_F_MORE;
        if (!more) --inFlight_;
        requeue();
        if (isOutput) return collectOutput(result);
        if (result >= leastPiece_ && pausing_) ++handler_.marks_.latePieces;
        if (!more) inputRuns_ = pausing_ = false;
        if (result >= leastPiece_) {
            arrived_.push(toMessage(result, flags));
        } else if (result == -ENOBUFS) {
            ++handler_.marks_.buffersRanOut;  // the bytes wait in the socket; the next dispatch starts the input again
        } else if (result != -ECANCELED) {
            inputEnded_ = true;
            error_ = fromErrno(-result);
        }
        if (!inputRuns_ || pausing_ || closing_ || (wantsInput_ && arrived_.size() < queueLimit)) return;
        pausing_ = true;
        ++handler_.marks_.pauses;
        io_uring_prep_cancel64(&handler_.nextEntry(0), key(input), 0);
    }

    void dispatch() {
        if (!closing_) dispatchOutput();
        if (!closing_) readCycle();
        if (closing_ && inFlight_ == 0 && fd_) finishClosing();
    }

    static SystemCalls& calls() noexcept { return SystemCalls::kernel(); }
    int fd() const noexcept { return fd_.get(); }
    std::uint64_t key(std::uint64_t operation) noexcept { return reinterpret_cast<std::uint64_t>(this) | operation; }
    io_uring_sqe& submit(std::uint64_t operation) noexcept {
        ++inFlight_;
        return handler_.nextEntry(key(operation));
    }
    void requeue() noexcept { linked() ? void() : handler_.ready_.append(*this); }
    virtual void prepareInput(io_uring_sqe& entry) noexcept = 0;
    virtual Message toMessage(int result, unsigned flags) = 0;
    virtual void collectOutput(int) {}
    virtual void dispatchOutput() {}

    static void refuse(const ChannelPromise& promise) { promise.tryFailure(fromErrno(EOPNOTSUPP)); }

    void readCycle() {
        bool delivered = false, goOn = wantsInput_;
        while (goOn && !arrived_.empty()) {
            Message piece = arrived_.pop();
            piece.is<Buffer>() ? channel_.onRead(std::move(piece.get<Buffer>())) : channel_.onMessage(std::move(piece));
            delivered = true;
            goOn = !closing_ && wantsInput_ && channel_.keepReading();
        }
        if (goOn && inputEnded_ && !error_) return channel_.onEof();
        if (delivered && !closing_) channel_.onReadComplete();
        if (goOn && inputEnded_ && !closing_) return channel_.onError(error_);
        if (closing_ || !wantsInput_) return;
        if (!arrived_.empty() || inputEnded_) return requeue();
        // Not before the queue is empty: the socket's own window is the back-pressure.
        if (!std::exchange(inputRuns_, true)) prepareInput(submit(input));
    }

    void finishClosing() {
        unlink();
        handler_.sinks_.erase(this);
        fd_.close();
        std::exchange(closed_, {}).trySuccess();
    }

    UringIoHandler& handler_;
    Channel& channel_;
    Fd fd_;
    const int leastPiece_;
    // inputEnded_: by end of stream or an error, never started again; pausing_: the input's cancel is on its way.
    bool closing_ = false, wantsInput_ = false, inputRuns_ = false, inputEnded_ = false, pausing_ = false;
    unsigned inFlight_ = 0;
    ErrorCode error_;
    detail::Ring<Message> arrived_;
    ChannelPromise closed_;
};

struct UringStream final : UringSink {
    UringStream(UringIoHandler& handler, Fd fd, Channel& channel) : UringSink(handler, std::move(fd), channel, 1) {}

    // One send at a time, for the order of the bytes. Their memory stays with the channel until onWritten() or close.
    void flush(OutboundBuffer& outbound) override {
        if (sending_ || closing_) return;
        sending_ = true;
        message_.msg_iov = parts_;
        message_.msg_iovlen = outbound.gather(parts_, std::size(parts_), SIZE_MAX);
        io_uring_prep_sendmsg(&submit(output), fd(), &message_, MSG_NOSIGNAL);
    }

    void prepareInput(io_uring_sqe& entry) noexcept override {
        io_uring_prep_recv_multishot(&entry, fd(), nullptr, 0, 0);
        entry.flags |= IOSQE_BUFFER_SELECT;
    }
    Message toMessage(int result, unsigned flags) override {
        Buffer bytes = handler_.exchangeBuffer(flags >> IORING_CQE_BUFFER_SHIFT);
        bytes.produced(static_cast<std::size_t>(result));
        return bytes;
    }
    void collectOutput(int result) override { sent_ = result; }
    void dispatchOutput() override {
        if (!sent_) return;
        sending_ = false;
        const int result = *std::exchange(sent_, std::nullopt);
        if (result < 0) return channel_.onWriteError(fromErrno(-result));
        channel_.onWritten(static_cast<std::size_t>(result));
        if (!closing_) channel_.onWritable();  // the kernel may have taken less than the channel gave
    }

    iovec parts_[64];  // the kernel copies these and message_ while it takes the entry (SUBMIT_STABLE)
    msghdr message_{};
    bool sending_ = false;     // from flush() to the dispatch of its completion
    std::optional<int> sent_;  // what the kernel said, until then
};

struct UringListener final : UringSink {
    UringListener(UringIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser)
        : UringSink(handler, std::move(fd), channel, 0), chooser_(std::move(chooser)) {
        setOption(SocketOption::reuseAddress, 1);
        setOption(SocketOption::noDelay, 1);  // inherited by accepted sockets
    }
    bool listens() const noexcept override { return true; }
    void bind(const SocketAddress& local, ChannelPromise promise) override {
        int result = calls().bind(fd(), local.data(), local.size());
        if (result >= 0) result = calls().listen(fd(), SOMAXCONN);
        result < 0 ? promise.tryFailure(fromErrno(-result)) : promise.trySuccess();
    }

    void prepareInput(io_uring_sqe& entry) noexcept override {
        io_uring_prep_multishot_accept(&entry, fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    Message toMessage(int result, unsigned) override {
        ChannelRef child = Channel::create(chooser_ ? chooser_() : channel_.loop());
        child->attach(SocketIoHandler::of(child->loop())->stream(Fd(result), *child));
        child->setActive(true);
        return Message::of<ChannelRef>(std::move(child));
    }
    ChildLoopChooser chooser_;
};

}  // namespace weft
