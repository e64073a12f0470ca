#include "fiber_sink.hpp"

#include <exception>

namespace weft::detail {

FiberSink::User::~User() {
    if (sink_ == nullptr) return;
    if (sink_->users_.fetch_sub(1, std::memory_order_acq_rel) == 1) channel_->close(ChannelPromise());
}

// The socket, which ends on its carrier with this object: the memory of the channel may be freed elsewhere.
class FiberSink::Stream final : public FiberStream {
  public:
    Stream(std::unique_ptr<FiberStream> socket, FiberSink& sink) noexcept : user_(sink), socket_(std::move(socket)) {}
    ~Stream() override {
        user_.sink().socket_ = nullptr;
        socket_->close();
    }

    ErrorCode connect(const SocketAddress& remote, Deadline deadline) override {
        return socket_->connect(remote, deadline);
    }
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override {
        return socket_->readSome(into, deadline, error);
    }
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override {
        return socket_->readSome(most, deadline, error);
    }
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override {
        return socket_->writeSome(parts, deadline, error);
    }
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override {
        return socket_->tryReadSome(into, error);
    }
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override {
        return socket_->tryWriteSome(parts, error);
    }
    ErrorCode shutdownOutput(Deadline deadline) override { return socket_->shutdownOutput(deadline); }
    void interruptReads() noexcept override { socket_->interruptReads(); }
    bool holdsInput() const noexcept override { return socket_->holdsInput(); }
    void close() noexcept override { socket_->close(); }
    bool isOpen() const noexcept override { return socket_->isOpen(); }
    ErrorCode setOption(SocketOption option, int value) override { return socket_->setOption(option, value); }
    ErrorCode getOption(SocketOption option, int& value) const override { return socket_->getOption(option, value); }
    SocketAddress localAddress() const override { return socket_->localAddress(); }
    SocketAddress remoteAddress() const override { return socket_->remoteAddress(); }
    std::string_view errorText() const noexcept override { return socket_->errorText(); }

  private:
    const User user_;
    const std::unique_ptr<FiberStream> socket_;
};

std::unique_ptr<FiberStream> FiberSink::open() {
    return std::make_unique<Stream>(std::move(unopened_), *this);
}

void FiberSink::drain() noexcept {
    if (socket_ != nullptr) socket_->interruptReads();
}

void FiberSink::close(ChannelPromise promise) {
    polled_.leave();
    if (socket_ != nullptr) socket_->close();
    if (unopened_) socket_ = nullptr;
    unopened_.reset();
    promise.trySuccess();
}

void FiberSink::flush(ChannelOutput&) {
    try {
        channel_.loop().execute([channel = ChannelRef(channel_)] { channel->onWriteError(fromErrno(EOPNOTSUPP)); });
    } catch (const std::exception&) {  // the end of the loop closes the channel, and fails what it was to send
    }
}

}  // namespace weft::detail
