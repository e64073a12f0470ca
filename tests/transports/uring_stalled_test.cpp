// Specific to io_uring: what a connection holds that nobody reads. The rest of its bytes waits in the socket, so that
// the peer is held back.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
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

// Large blocks that are in the ring. Context: the carrier, as for the next one.
std::int64_t largeBlocksInTheRing(UringHost& host) {
    return static_cast<std::int64_t>((host.poller().counters().bufferBytes - options.smallBuffers * smallBytes) /
                                     largeBytes);
}
std::int64_t blocksBesideTheRing(UringHost& host) {
    return BufferPool::liveBlocks() - std::int64_t{options.smallBuffers} - largeBlocksInTheRing(host);
}

class Counter final : public ChannelInboundHandler {
  public:
    explicit Counter(std::size_t& read) : read_(read) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        read_ += message.take<Buffer>().readableBytes();
    }

  private:
    std::size_t& read_;
};

// A client that sends as much as its socket takes.
class EagerPeer {
  public:
    explicit EagerPeer(const SocketAddress& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        EXPECT_EQ(::connect(fd_.get(), address.data(), address.size()), 0);
        EXPECT_EQ(::fcntl(fd_.get(), F_SETFL, O_NONBLOCK), 0);
    }
    void send() {
        for (ssize_t count = 0; count >= 0;) {
            sent_ += static_cast<std::size_t>(count);
            count = ::send(fd_.get(), bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
        }
    }
    std::size_t sent() const { return sent_; }

  private:
    std::size_t sent_ = 0;
    const Fd fd_;
    const std::string bytes_ = pattern(largeBytes);
};

// The receive that waits when reading is turned off takes a piece nevertheless.
TEST_F(UringTransport, AChannelThatReadsNoMoreHoldsOneLargePieceAtMost) {
    UringHost host(options);
    std::int64_t before = 0;
    host.inLoop([&] { before = blocksBesideTheRing(host); });
    std::size_t read = 0;
    Promise<ChannelRef> made;
    Server server(host, [&](Channel& channel) {
        channel.pipeline().addLast<Counter>(read);
        made.setValue(ChannelRef(channel));
    });
    EagerPeer peer(server.address);
    const ChannelRef channel = made.future().get();
    const auto waitsWithLargeBuffers = [&] {
        return read == peer.sent() && channel->readBufferSize() == largeBytes && largeBlocksInTheRing(host) > 0;
    };
    bool stalls = false;
    for (const Deadline deadline = testDeadline(); !stalls && Clock::steady().now() < deadline;) {
        host.inLoop([&] {
            stalls = waitsWithLargeBuffers();
            if (stalls) channel->setOption(ChannelOption::AUTO_READ, false);
            if (read == peer.sent()) peer.send();
        });
    }
    ASSERT_TRUE(stalls);
    for (int i = 0; i < 50; ++i) {
        host.inLoop([&] { peer.send(); });
    }
    host.inLoop([&] { EXPECT_EQ(blocksBesideTheRing(host) - before, 2) << "a large piece, and the block for output"; });
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
