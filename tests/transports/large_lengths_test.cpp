// Lengths around 2 GiB and 4 GiB: an entry of io_uring has 32 bits for a length, and the kernel's results have 31. No
// test transfers so much; each one looks at the first megabytes, which tell whether the rest can follow.
#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/mman.h>

#include <weft/scheduler/event_loop.hpp>
#include <weft/transports/fs/file.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

constexpr std::size_t lengths[] = {INT_MAX, std::size_t{INT_MAX} + 1, UINT32_MAX, std::size_t{1} << 32,
                                   (std::size_t{1} << 32) + 1};
constexpr std::size_t looked = 4 << 20;  // more than one gathered write

// Zero bytes that need no memory until they are written to.
class Zeros {
  public:
    explicit Zeros(std::size_t size) : size_(size) {
        void* const mapped =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped != MAP_FAILED) bytes_ = static_cast<char*>(mapped);
    }
    ~Zeros() {
        if (bytes_ != nullptr) ::munmap(bytes_, size_);
    }
    Zeros(const Zeros&) = delete;
    Zeros& operator=(const Zeros&) = delete;

    bool mapped() const { return bytes_ != nullptr; }
    std::string_view view() const { return {bytes_, size_}; }
    std::span<char> span() const { return {bytes_, size_}; }

  private:
    const std::size_t size_;
    char* bytes_ = nullptr;
};

class LargeLengths : public testing::TestWithParam<std::size_t> {
  protected:
    void SetUp() override {
        if (!zeros.mapped()) GTEST_SKIP() << "the address space is limited";
    }
    Zeros zeros{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Bytes, LargeLengths, testing::ValuesIn(lengths));

// Writes `head` and then the zeros.
class HeadAndZeros final : public ChannelInboundHandler {
  public:
    HeadAndZeros(std::string_view head, std::string_view zeros) : head_(head), zeros_(zeros) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        if (!head_.empty()) ctx.write(Buffer::copyOf(head_));
        ctx.writeAndFlush(Buffer::wrapStatic(zeros_));
    }

  private:
    const std::string_view head_;
    const std::string_view zeros_;
};

TEST_P(LargeLengths, AChannelSendsABufferOfAnyLength) {
    const DescriptorGuard guard;
    for (const std::string_view head : {"", "head"}) {
        SocketLoops host;
        Server server(host, [&](Channel& channel) { channel.pipeline().addLast<HeadAndZeros>(head, zeros.view()); });
        BlockingPeer peer(server.address);
        const std::string received = peer.receiveExactly(looked);
        EXPECT_EQ(received.size(), looked);
        EXPECT_TRUE(received.starts_with(head));
        peer.reset();
    }
}

// Runs `write(stream, error)` against a reader that closes after some megabytes.
template <class Write>
ErrorCode errorOfWrite(SocketLoops& host, Write write) {
    return host.inFiber([&] {
        TcpPair pair;
        ErrorCode failed;
        auto writer = host.carrier().spawn([&] { write(pair.server, failed); });
        std::string received(looked, '?');
        pair.client.setDeadline(testDeadline());
        ErrorCode error;
        EXPECT_EQ(pair.client.readExactly(received, error), looked) << error.message();
        pair.client.setOption(SocketOption::linger, 0);
        pair.client.close();
        writer.join();
        return failed;
    });
}

TEST_P(LargeLengths, AFiberWritesASpanOfAnyLength) {
    SocketLoops host;
    const ErrorCode error = errorOfWrite(
        host, [&](TcpStream& stream, ErrorCode& failed) { stream.write(std::span<const char>(zeros.view()), failed); });
    EXPECT_TRUE(error == fromErrno(ECONNRESET) || error == fromErrno(EPIPE)) << error.message();
}

TEST_P(LargeLengths, AFiberWritesPartsOfAnyLength) {
    SocketLoops host;
    const ErrorCode error = errorOfWrite(host, [&](TcpStream& stream, ErrorCode& failed) {
        stream.write({"head", zeros.view(), zeros.view()}, failed);
    });
    EXPECT_TRUE(error == fromErrno(ECONNRESET) || error == fromErrno(EPIPE)) << error.message();
}

TEST_P(LargeLengths, ATryWritesAndReadsAnyLength) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        ErrorCode error;
        const std::size_t written = pair.server.tryWrite({zeros.view()}, error);
        EXPECT_GT(written, 0u) << error.message();
        char first = '?';
        EXPECT_EQ(pair.client.read(std::span<char>(&first, 1)), 1u);
        EXPECT_GT(pair.client.tryRead(zeros.span(), error), 0u) << error.message();
    });
}

TEST_P(LargeLengths, AFiberReadsIntoASpanOfAnyLength) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        for (const std::string_view sent : {"first", "second"}) {
            auto writer = host.carrier().spawn([&] { pair.server.write(std::span<const char>(sent)); });
            EXPECT_EQ(pair.client.read(zeros.span()), sent.size());
            EXPECT_TRUE(zeros.view().starts_with(sent));
            writer.join();
        }
    });
}

// A full device and an empty one: the lengths are accepted, and no byte is transferred.
TEST_P(LargeLengths, AFileReadsAndWritesAnyLength) {
    using fs::File;
    ErrorCode error;
    File full = File::open("/dev/full", fs::OpenMode::writeOnly);
    EXPECT_EQ(full.write(zeros.view(), error), 0u);
    EXPECT_EQ(error, fromErrno(ENOSPC));
    EXPECT_EQ(full.writeAt(GetParam(), zeros.view(), error), 0u);
    EXPECT_EQ(error, fromErrno(ENOSPC));
    File nothing = File::open("/dev/null");
    EXPECT_EQ(nothing.read(zeros.span(), error), 0u);
    EXPECT_FALSE(error) << error.message();
    EXPECT_EQ(nothing.readAt(GetParam(), zeros.span(), error), 0u);
    EXPECT_FALSE(error) << error.message();
}

}  // namespace
}  // namespace weft::test
