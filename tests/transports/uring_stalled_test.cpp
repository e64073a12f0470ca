// Specific to io_uring: what a connection holds that nobody reads. The rest of its bytes waits in the socket, so that
// the peer is held back.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/pipeline/channel.hpp>

#include "support/pattern.hpp"
#include "transports/loopback_server.hpp"
#include "transports/tcp_pair.hpp"
#include "transports/uring_host.hpp"
#include "transports/uring_reader_bench.hpp"

namespace weft::test {
namespace {

constexpr UringOptions options{.smallBuffers = 16, .largeBuffers = 8};
constexpr std::size_t smallBytes = UringIoHandler::smallBytes, largeBytes = UringIoHandler::largeBytes;
constexpr std::size_t readBeforeTheStall = 1 << 20;  // enough for the transport to receive into large buffers

// Blocks that are not in the ring. Context: the carrier.
std::int64_t blocksBesideTheRing(UringHost& host) {
    const std::size_t large = (host.poller().counters().bufferBytes - options.smallBuffers * smallBytes) / largeBytes;
    return BufferPool::liveBlocks() - std::int64_t{options.smallBuffers} - static_cast<std::int64_t>(large);
}

// Reads some bytes and then none, when it calls `onStall`.
class Stalls final : public ChannelInboundHandler {
  public:
    explicit Stalls(std::function<void()> onStall) : onStall_(std::move(onStall)) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        read_ += message.take<Buffer>().readableBytes();
        if (read_ < readBeforeTheStall || hasStalled_) return;
        hasStalled_ = true;
        ctx.channel().setOption(ChannelOption::AUTO_READ, false);
        onStall_();
    }

  private:
    const std::function<void()> onStall_;
    std::size_t read_ = 0;
    bool hasStalled_ = false;
};

// A client that sends as much as its socket takes.
class EagerPeer {
  public:
    explicit EagerPeer(const SocketAddress& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        EXPECT_EQ(::connect(fd_.get(), address.data(), address.size()), 0);
        EXPECT_EQ(::fcntl(fd_.get(), F_SETFL, O_NONBLOCK), 0);
    }
    void send() {
        while (::send(fd_.get(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL) > 0) {
        }
    }

  private:
    const Fd fd_;
    const std::string bytes_ = pattern(largeBytes);
};

TEST_F(UringTransport, AChannelThatReadsNoMoreHoldsOneLargePieceAtMost) {
    UringHost host(options);
    std::atomic<bool> stalled = false;
    std::optional<EagerPeer> peer;
    std::int64_t before = 0;
    host.inLoop([&] { before = blocksBesideTheRing(host); });
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<Stalls>([&] {
            peer->send();  // the socket is full when the transport learns that reading is off
            stalled = true;
        });
    });
    peer.emplace(server.address);
    for (const Deadline deadline = testDeadline(); !stalled && Clock::steady().now() < deadline;) {
        host.inLoop([&] { peer->send(); });
    }
    ASSERT_TRUE(stalled);
    for (int i = 0; i < 50; ++i) {
        host.inLoop([&] { peer->send(); });
    }
    host.inLoop([&] { EXPECT_LE(blocksBesideTheRing(host) - before, 1); });
}

TEST_F(UringFiberReader, AFiberThatReadsNoMoreHoldsOneLargePieceAtMost) {
    UringHost host(options);
    inFiber(host, [&] {
        TcpPair pair;
        constexpr std::size_t size = 8 << 20;
        const std::string sent = pattern(size);
        const std::int64_t before = blocksBesideTheRing(host);
        auto writer = host.carrier().spawn([&] { pair.server.write(std::span<const char>(sent)); });
        std::string received;
        while (received.size() < readBeforeTheStall) received += pair.client.read(largeBytes).view();
        for (int i = 0; i < 50; ++i) letTheLoopPoll(host);
        EXPECT_LE(blocksBesideTheRing(host) - before, 1);
        while (received.size() < size) received += pair.client.read(largeBytes).view();
        writer.join();
        EXPECT_TRUE(received == sent) << "not what was sent";
    });
}

}  // namespace
}  // namespace weft::test
