// The base of the conformance kit for sockets: a loop on the transport under test, plain clients without Weft, and
// servers by handlers and by fibers that answer each message with its hash.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
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
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_listener.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft::test {

struct SocketsUnderTest {
    std::string name;                                        // letters and digits, for the tests' names
    std::function<std::unique_ptr<SocketIoHandler>()> make;  // makes a handler for one loop
};

inline void PrintTo(const SocketsUnderTest& sockets, std::ostream* out) {
    *out << sockets.name;
}

// Anything that takes longer counts as lost.
inline constexpr std::chrono::seconds socketsTimeout{60};

// ---- messages: a length of four bytes, then that many bytes ----

using MessageHash = std::uint64_t;

class Hasher {
  public:
    void add(std::string_view bytes) noexcept {
        for (const char byte : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    }
    MessageHash value() const noexcept { return hash_; }

  private:
    MessageHash hash_ = 14695981039346656037ULL;
};

inline MessageHash hashOf(std::string_view bytes) noexcept {
    Hasher hasher;
    hasher.add(bytes);
    return hasher.value();
}

// The same seed produces the same messages. Most are short; some fill several buffers.
class MessageMaker {
  public:
    explicit MessageMaker(unsigned seed) : random_(seed) {}
    std::string payload() {
        std::string bytes(size(), '\0');
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint32_t)) {
            const auto word = static_cast<std::uint32_t>(random_());
            std::memcpy(&bytes[at], &word, std::min(sizeof word, bytes.size() - at));
        }
        return bytes;
    }
    static std::string framed(std::string_view payload) {
        std::string frame;
        for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift & 0xFF);
        return frame += payload;
    }

  private:
    std::size_t size() {
        const auto kind = random_() % 100;
        return random_() % (kind < 75 ? 300 : kind < 97 ? 5'000 : 70'000);
    }
    std::mt19937 random_;
};

// ---- a client ----

// A client on a blocking socket. It treats a timeout as the end of the stream.
class PlainClient {
  public:
    explicit PlainClient(const SocketAddress& server) : fd_(::socket(server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const timeval limit{socketsTimeout.count(), 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        connected_ = ::connect(fd_, server.data(), server.size()) == 0;
    }
    ~PlainClient() { ::close(fd_); }
    PlainClient(const PlainClient&) = delete;
    PlainClient& operator=(const PlainClient&) = delete;

    bool connected() const noexcept { return connected_; }
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    // Returns how many bytes arrived before the end or an error.
    std::size_t receive(char* into, std::size_t size) {
        std::size_t all = 0;
        while (all < size) {
            const ssize_t got = ::recv(fd_, into + all, size - all, 0);
            if (got <= 0) break;
            all += static_cast<std::size_t>(got);
        }
        return all;
    }
    bool ended() {
        char byte = 0;
        return ::recv(fd_, &byte, 1, 0) == 0;
    }
    void endOutput() { ::shutdown(fd_, SHUT_WR); }
    void reset() {
        const linger now{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }

  private:
    const int fd_;
    bool connected_ = false;
};

// Sends `messages` messages while it receives the answers. Returns what is wrong; empty if each answer was the hash of
// its message, in order.
inline std::string exchange(PlainClient& client, unsigned seed, std::size_t messages, bool thenEnds = false) {
    if (!client.connected()) return "not connected";
    std::thread sender([&] {
        MessageMaker maker(seed);
        for (std::size_t i = 0; i < messages; ++i) {
            if (!client.send(MessageMaker::framed(maker.payload()))) return;
        }
        if (thenEnds) client.endOutput();
    });
    std::string wrong;
    MessageMaker maker(seed);
    for (std::size_t i = 0; i < messages && wrong.empty(); ++i) {
        MessageHash answer = 0;
        const std::size_t got = client.receive(reinterpret_cast<char*>(&answer), sizeof answer);
        if (got != sizeof answer) wrong = "no answer to message " + std::to_string(i);
        if (wrong.empty() && answer != hashOf(maker.payload()))
            wrong = "a wrong answer to message " + std::to_string(i);
    }
    sender.join();
    if (wrong.empty() && thenEnds && !client.ended()) wrong = "no end behind the last answer";
    return wrong;
}

inline std::string exchange(const SocketAddress& server, unsigned seed, std::size_t messages, bool thenEnds = false) {
    PlainClient client(server);
    return exchange(client, seed, messages, thenEnds);
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
    explicit SocketsHost(const SocketsUnderTest& under) : group_(options()) {
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
        channel_->pipeline().addLast<ConnectionAcceptor>(std::move(setup), failures_);
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
