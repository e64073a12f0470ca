// The base of the conformance kit for sockets: a loop on the transport under test, and servers by handlers and by
// fibers that answer each message with its hash. Their clients: sockets_client.hpp.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/codec/length_field_based_frame_decoder.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/testing/sockets_client.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft::test {

struct SocketsUnderTest {
    std::string name;                                        // letters and digits, for the tests' names
    std::function<std::unique_ptr<SocketIoHandler>()> make;  // makes a handler for one loop
    std::function<void(Channel&)> onConnection = {};         // called before the handlers of a connection are added
};

inline void PrintTo(const SocketsUnderTest& sockets, std::ostream* out) {
    *out << sockets.name;
}

// While it lives, the process may open few more descriptors, and none after exhaust(). Construct it before the
// listener: on io_uring, an accept keeps the limit that was in force when it started.
class DescriptorLimit {
  public:
    DescriptorLimit() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int lowestFree = ::dup(STDERR_FILENO);
        ::close(lowestFree);
        const rlimit few{static_cast<rlim_t>(lowestFree) + 32, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    ~DescriptorLimit() {
        relieve();
        ::setrlimit(RLIMIT_NOFILE, &before_);
    }
    DescriptorLimit(const DescriptorLimit&) = delete;
    DescriptorLimit& operator=(const DescriptorLimit&) = delete;

    void exhaust() {
        for (int taken; (taken = ::dup(STDERR_FILENO)) >= 0;) taken_.push_back(taken);
    }
    void relieve() {
        for (const int taken : taken_) ::close(taken);
        taken_.clear();
    }

  private:
    rlimit before_{};
    std::vector<int> taken_;
};

// ---- the loop under test ----

class SocketsHost {
  public:
    explicit SocketsHost(const SocketsUnderTest& under) : group_(options()), onConnection_(under.onConnection) {
        auto handler = under.make();
        sockets_ = handler.get();
        loop_ = std::make_unique<EventLoop>(group_.carrier(0), std::move(handler));
        ended_.emplace(loop_->start());
        inLoop([] {});  // its poller is open
    }
    // Ends the fibers before the loop, because they use its handler.
    ~SocketsHost() {
        stop();
        group_.shutdown(socketsTimeout);
    }
    // Returns false if the loop does not end.
    bool stop() {
        loop_->stop();
        return ended_->awaitUntil(std::chrono::steady_clock::now() + socketsTimeout);
    }
    EventLoop& loop() { return *loop_; }
    SocketIoHandler& sockets() { return *sockets_; }
    Carrier& carrier() { return group_.carrier(0); }
    void onConnection(Channel& channel) const {
        if (onConnection_) onConnection_(channel);
    }
    template <class F>
    void inLoop(F fn) {
        Promise<void> done;
        Future<void> future = done.future();
        loop_->execute([fn = std::move(fn), done = std::move(done)]() mutable {
            fn();
            done.setValue();
        });
        future.get();
    }

  private:
    static CarrierOptions options() {
        CarrierOptions one;
        one.name = "sockets";
        one.carriers = 1;
        return one;
    }
    CarrierGroup group_;
    const std::function<void(Channel&)> onConnection_;
    SocketIoHandler* sockets_ = nullptr;
    std::unique_ptr<EventLoop> loop_;
    std::optional<Future<void>> ended_;
};

// ---- servers ----

using ChannelSetup = std::function<void(Channel&)>;

class ConnectionAcceptor final : public ChannelInboundHandler {
  public:
    ConnectionAcceptor(ChannelSetup setup, std::atomic<unsigned>& failures)
        : setup_(std::move(setup)), failures_(failures) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        ChannelRef child = message.take<ChannelRef>();
        child->pipeline().addLast([setup = setup_](Channel& channel) { setup(channel); });
        child->registerWithLoop(ChannelPromise());
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr) override { ++failures_; }

  private:
    ChannelSetup setup_;
    std::atomic<unsigned>& failures_;
};

// Listens on the loop. `setup` adds the handlers of its connections.
class HandlerServer {
  public:
    HandlerServer(SocketsHost& host, ChannelSetup setup) : channel_(Channel::create(host.loop())) {
        channel_->attach(host.sockets().listener(openTcpSocket(AF_INET), *channel_));
        ChannelSetup setUpAll = [&host, setup = std::move(setup)](Channel& channel) {
            host.onConnection(channel);
            setup(channel);
        };
        channel_->pipeline().addLast<ConnectionAcceptor>(std::move(setUpAll), failures_);
        channel_->registerWithLoop().sync();
        channel_->bind(SocketAddress::loopbackV4(0)).sync();
        host.inLoop([this] { address_ = channel_->localAddress(); });
    }
    ~HandlerServer() { channel_->close().await(); }
    const SocketAddress& address() const noexcept { return address_; }
    // How often the listener's pipeline was notified of a failed accept.
    unsigned failures() const noexcept { return failures_; }

  private:
    std::atomic<unsigned> failures_{0};
    ChannelRef channel_;
    SocketAddress address_;
};

class HashHandler final : public ChannelInboundHandler {
  public:
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        const MessageHash hash = hashOf(message.get<Buffer>().view());
        ctx.write(Buffer::copyOf({reinterpret_cast<const char*>(&hash), sizeof hash}));
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override { ctx.flush(); }
    // The peer has ended its output and still expects the answers.
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (!event.is<InputShutdownEvent>()) return;
        ChannelPromise answered = ctx.newPromise();
        answered.addListener(closeChannel);
        ctx.writeAndFlush(Buffer::wrapStatic(""), answered);
    }
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
};

inline void answerMessages(Channel& channel) {
    channel.setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    LengthFieldOptions frames;
    frames.maxFrameLength = 128 * 1024;
    frames.strip = 4;
    channel.pipeline().addLast<LengthFieldBasedFrameDecoder>(frames);
    channel.pipeline().addLast<HashHandler>();
}

// Switches AUTO_READ off at random, at once or a little later, and on again after a while. Sometimes it requests one
// read in between, as a later decoder that lacks the rest of a frame does. While AUTO_READ is off and no read is
// requested, no data may arrive.
class RandomReader final : public ChannelDuplexHandler {
  public:
    RandomReader(unsigned seed, std::atomic<unsigned>& unwanted) : random_(seed), unwanted_(unwanted) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        if (off_ && !asked_) ++unwanted_;
        taken_ = asked_;
        ChannelRef channel(ctx.channel());
        ctx.fireChannelRead(std::move(message));
        if (pending_ || random_() % 4 != 0) return;
        pending_ = true;
        if (random_() % 2) {
            switchOff(*channel);
        } else {
            channel->loop().execute([this, channel] {
                switchOff(*channel);
                if (off_ && random_() % 2) channel->read();
            });
        }
        channel->loop().schedule([this, channel] { switchOn(*channel); }, std::chrono::microseconds(random_() % 300));
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        if (std::exchange(taken_, false)) asked_ = false;
        ctx.fireChannelReadComplete();
    }

    void read(ChannelHandlerContext& ctx) override {
        asked_ = true;
        ctx.read();
    }

  private:
    void switchOff(Channel& channel) {
        if (channel.closed() || !pending_) return;
        channel.setOption(ChannelOption::AUTO_READ, false);  // cancels a requested read
        off_ = true;
        asked_ = false;
    }
    void switchOn(Channel& channel) {
        if (channel.closed()) return;
        pending_ = off_ = asked_ = false;
        channel.setOption(ChannelOption::AUTO_READ, true);
    }

    std::mt19937 random_;
    std::atomic<unsigned>& unwanted_;
    bool pending_ = false, off_ = false;
    bool asked_ = false, taken_ = false;
};

// Accepts on the carrier and serves each connection in a fiber.
class FiberServer {
  public:
    using Serve = std::function<void(TcpStream&)>;

    FiberServer(SocketsHost& host, Serve serve) {
        Promise<SocketAddress> bound;
        Future<SocketAddress> address = bound.future();
        host.carrier().spawnDetached([serve = std::move(serve), bound = std::move(bound)]() mutable {
            TcpListener listener = TcpListener::listen(SocketAddress::loopbackV4(0));
            bound.setValue(listener.localAddress());
            ErrorCode error;
            for (;;) {
                TcpStream stream = listener.accept(error);
                if (error) return;
                Carrier::current()->spawnDetached([serve, stream = std::move(stream)]() mutable { serve(stream); });
            }
        });
        address_ = address.get();
    }
    const SocketAddress& address() const noexcept { return address_; }

  private:
    SocketAddress address_;
};

// Reads `size` bytes in one of the available ways.
using Reader = std::function<bool(TcpStream&, std::string& into, std::size_t size)>;

inline bool readExactly(TcpStream& stream, std::string& into, std::size_t size) {
    into.resize(size);
    ErrorCode error;
    return stream.readExactly(into, error) == size;
}

inline bool readBuffers(TcpStream& stream, std::string& into, std::size_t size) {
    into.clear();
    ErrorCode error;
    while (into.size() < size) {
        const Buffer piece = stream.read(size - into.size(), error);
        if (piece.empty()) return false;
        into += piece.view();
    }
    return true;
}

// Reads with deadlines that pass again and again.
inline bool readHastily(TcpStream& stream, std::string& into, std::size_t size) {
    into.clear();
    ErrorCode error;
    unsigned timeout = 0;
    while (into.size() < size) {
        stream.setDeadline(std::chrono::steady_clock::now() + std::chrono::microseconds(timeout++ % 50));
        const Buffer piece = stream.read(size - into.size(), error);
        if (error == timedOut()) continue;
        if (piece.empty()) return false;
        into += piece.view();
    }
    stream.setDeadline(never);
    return true;
}

inline FiberServer::Serve answeringFiber(Reader read) {
    return [read = std::move(read)](TcpStream& stream) {
        std::string bytes;
        ErrorCode error;
        while (read(stream, bytes, 4)) {
            std::size_t size = 0;
            for (const char byte : bytes) size = size << 8 | static_cast<unsigned char>(byte);
            if (size > 0 && !read(stream, bytes, size)) return;
            if (size == 0) bytes.clear();
            const MessageHash hash = hashOf(bytes);
            stream.write(std::string_view(reinterpret_cast<const char*>(&hash), sizeof hash), error);
            if (error) return;
        }
    };
}

}  // namespace weft::test
