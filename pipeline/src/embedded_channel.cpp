#include <weft/pipeline/embedded_channel.hpp>

#include <memory>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

// Moves whole messages to the outbound queue; every operation succeeds at once.
class EmbeddedChannel::Sink final : public ChannelSink {
  public:
    explicit Sink(std::deque<Message>& outbound) : outbound_(outbound) {}

    void registered() override {}
    void bind(const SocketAddress& local, ChannelPromise promise) override {
        local_ = local;
        promise.trySuccess();
    }
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override {
        remote_ = remote;
        if (local) local_ = *local;
        promise.trySuccess();
    }
    void wantRead(bool) override {}
    void flush(ChannelOutput& output) override {
        Message message;
        while (output.takeMessage(message)) outbound_.push_back(std::move(message));
    }
    void shutdownOutput(ChannelPromise promise) override { promise.trySuccess(); }
    void deregister(ChannelPromise promise) override { promise.trySuccess(); }
    void close(ChannelPromise promise) override { promise.trySuccess(); }
    ErrorCode setOption(SocketOption, int) override { return {}; }
    ErrorCode getOption(SocketOption, int& value) const override {
        value = 0;
        return {};
    }
    SocketAddress localAddress() const override { return local_; }
    SocketAddress remoteAddress() const override { return remote_; }
    bool takesMessages() const noexcept override { return true; }

  private:
    std::deque<Message>& outbound_;
    SocketAddress local_;
    SocketAddress remote_;
};

EmbeddedChannel::EmbeddedChannel(Unregistered) : channel_(Channel::create(loop_)) {
    channel_->attach(std::make_unique<Sink>(outbound_));
    channel_->setActive(true);
    channel_->pipeline().observer_ = this;
}

EmbeddedChannel::~EmbeddedChannel() {
    channel_->close({});
    loop_.runTasks();
    channel_->pipeline().observer_ = nullptr;  // another reference may keep the channel alive
}

void EmbeddedChannel::registerChannel() {
    channel_->registerWithLoop({});
    loop_.runTasks();
}

void EmbeddedChannel::ensureOpen() const {
    if (channel_->closed()) throw ClosedChannelException();
}

ChannelPromise EmbeddedChannel::writeOne(Message message) {
    ChannelPromise promise = channel_->newPromise();
    channel_->write(std::move(message), promise);
    return promise;
}

bool EmbeddedChannel::endInbound() {
    channel_->onReadComplete();
    loop_.runTasks();
    checkException();
    return !inbound_.empty();
}

bool EmbeddedChannel::endOutbound(const std::vector<ChannelPromise>& promises) {
    channel_->flush();
    loop_.runTasks();
    for (const ChannelPromise& promise : promises) {
        const ChannelFuture future = promise.future();
        if (future.done() && !future.success()) unhandledException(future.cause());
    }
    checkException();
    return !outbound_.empty();
}

std::string EmbeddedChannel::readOutboundText() {
    std::string text;
    while (!outbound_.empty() && outbound_.front().is<Buffer>()) text += pop(outbound_).get<Buffer>().view();
    return text;
}

void EmbeddedChannel::advanceTimeBy(Duration time) {
    clock_.advance(time);
    loop_.runTasks();
}

ChannelFuture EmbeddedChannel::close() {
    ChannelFuture future = channel_->close();
    loop_.runTasks();
    return future;
}

bool EmbeddedChannel::finish() {
    close();
    checkException();
    return !inbound_.empty() || !outbound_.empty();
}

bool EmbeddedChannel::finishAndReleaseAll() {
    const bool left = finish();
    inbound_.clear();
    outbound_.clear();
    return left;
}

void EmbeddedChannel::unhandledException(std::exception_ptr error) {
    if (!error_) {
        error_ = std::move(error);
    } else {
        log(LogLevel::warning,
            "a further exception reached the tail of an embedded channel, which keeps only the first: " +
                describe(error));
    }
}

void EmbeddedChannel::checkException() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Message EmbeddedChannel::pop(std::deque<Message>& queue) {
    if (queue.empty()) return {};
    Message message = std::move(queue.front());
    queue.pop_front();
    return message;
}

}  // namespace weft
