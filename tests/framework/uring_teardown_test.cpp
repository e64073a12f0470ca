// L-6: a group on io_uring leaves no ring, descriptor or buffer behind, whatever its connections were doing.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <weft/pipeline/buffer_pool.hpp>
#include <weft/transports/uring/uring_support.hpp>

#include "framework/bench.hpp"
#include "support/sanitized.hpp"
#include "transports/full_listener.hpp"

namespace weft::test {
namespace {

#ifdef WEFT_SANITIZED
constexpr int rounds = 100;
#else
constexpr int rounds = 1'000;
#endif

int openRings() {
    int rings = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;  // the descriptor of this iteration itself
        rings += std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:[io_uring]";
    }
    return rings;
}

class UringTeardown : public testing::Test {
  protected:
    using Act = std::function<void(EventLoopGroup&, const SocketAddress&)>;

    void SetUp() override {
        if (!UringSupport::ofThisProcess().available()) GTEST_SKIP() << "io_uring is not permitted here";
    }
    // Creates and ends a group in each round, with whatever `act` has started.
    static void endGroups(int groups, const Act& act) {
        const std::size_t blocks = BufferPool::liveBlocks();
        for (int i = 0; i < groups; ++i) {
            EventLoopGroupOptions options = groupOptions(2);
            options.transport = Transport::Kind::ioUring;
            EventLoopGroup group(options);
            ASSERT_EQ(openRings(), 2);
            const Server server = serveEcho(group);
            act(group, server.localAddress());
        }
        EXPECT_EQ(openRings(), 0);
        EXPECT_EQ(BufferPool::liveBlocks(), blocks);
    }
    std::vector<std::unique_ptr<BlockingPeer>> peers;
};

TEST_F(UringTeardown, GroupsWithoutWork) {
    endGroups(rounds, [](EventLoopGroup&, const SocketAddress&) {});
}

TEST_F(UringTeardown, WithConnectionsThatAreOpen) {
    endGroups(rounds / 10, [this](EventLoopGroup&, const SocketAddress& address) {
        for (int i = 0; i < 5; ++i) {
            peers.push_back(std::make_unique<BlockingPeer>(address));
            EXPECT_EQ(echoed(*peers.back(), "x"), "x");
        }
    });
    for (auto& peer : peers) EXPECT_EQ(peer->receive(), "");
}

TEST_F(UringTeardown, WithPeersThatReset) {
    endGroups(rounds / 10, [](EventLoopGroup&, const SocketAddress& address) {
        for (int i = 0; i < 5; ++i) {
            BlockingPeer peer(address);
            EXPECT_EQ(echoed(peer, "x"), "x");
            peer.send("y");
            peer.reset();
        }
    });
}

TEST_F(UringTeardown, WithConnectsUnderWay) {
    const FullListener full;
    endGroups(rounds / 50, [&](EventLoopGroup& group, const SocketAddress&) {
        Bootstrap bootstrap(group);
        bootstrap.handler([](Channel& channel) { channel.pipeline().addLast<Echo>(); });
        for (int i = 0; i < 3; ++i) bootstrap.connect(full.address());
    });
}

TEST_F(UringTeardown, WithFibersThatRead) {
    endGroups(rounds / 10, [](EventLoopGroup& group, const SocketAddress& address) {
        Promise<void> begun;
        Future<void> reads = begun.future();
        group.carriers().carrier(0).spawnDetached([address, begun = std::move(begun)]() mutable {
            TcpStream stream = TcpStream::connect(address);
            stream.write(std::string_view("x"));
            char bytes[16];
            ErrorCode error;
            EXPECT_EQ(stream.read(bytes, error), 1u);
            begun.setValue();
            EXPECT_EQ(stream.read(bytes, error), 0u);  // the other loop closes its channel, or this carrier cancels
            EXPECT_TRUE(!error || error == operationAborted()) << error.message();
        });
        EXPECT_TRUE(reads.awaitUntil(testDeadline()));
    });
}

}  // namespace
}  // namespace weft::test
