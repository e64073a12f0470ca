#include "fiber_sink.hpp"

#include <exception>

namespace weft::detail {

namespace {

// Forwards to the sink's socket. After a drain the end of the input means operation_aborted: the peer has not ended.
class ChildStream final : public FiberStream {
  public:
    ChildStream(FiberSink& sink, Channel& channel, std::shared_ptr<void> user) noexcept
        : sink_(sink), channel_(channel), user_(std::move(user)) {}
    ~ChildStream() override { socket().close(); }

    ErrorCode connect(const SocketAddress&, Deadline) override { return fromErrno(EISCONN); }
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override {
        const std::size_t count = socket().readSome(into, deadline, error);
        if (count == 0) markDrained(error);
        return count;
    }
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override {
        Buffer bytes = socket().readSome(most, deadline, error);
        if (bytes.empty()) markDrained(error);
        return bytes;
    }
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override {
        return socket().writeSome(parts, deadline, error);
    }
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override {
        const std::size_t count = socket().tryReadSome(into, error);
        if (count == 0) markDrained(error);
        return count;
    }
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override {
        return socket().tryWriteSome(parts, error);
    }
    ErrorCode shutdownOutput(Deadline deadline) override { return socket().shutdownOutput(deadline); }
    void shutdownInput() noexcept override { socket().shutdownInput(); }
    void close() noexcept override { socket().close(); }
    bool isOpen() const noexcept override { return socket().isOpen(); }
    ErrorCode setOption(SocketOption option, int value) override { return socket().setOption(option, value); }
    ErrorCode getOption(SocketOption option, int& value) const override { return socket().getOption(option, value); }
    SocketAddress localAddress() const override { return socket().localAddress(); }
    SocketAddress remoteAddress() const override { return socket().remoteAddress(); }

  private:
    FiberStream& socket() const noexcept { return sink_.socket(); }
    void markDrained(ErrorCode& error) const noexcept {
        if (!error && sink_.isDrained()) error = operationAborted();
    }

    FiberSink& sink_;
    const ChannelRef channel_;  // owns the sink
    const std::shared_ptr<void> user_;
};

}  // namespace

std::unique_ptr<FiberStream> FiberSink::open(std::shared_ptr<void> user) {
    return std::make_unique<ChildStream>(*this, channel_, std::move(user));
}

void FiberSink::flush(ChannelOutput&) {
    channel_.loop().execute([channel = ChannelRef(channel_)] { channel->onWriteError(fromErrno(EOPNOTSUPP)); });
}

}  // namespace weft::detail
