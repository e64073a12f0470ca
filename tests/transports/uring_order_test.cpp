// Specific to io_uring: system calls on a socket with queued entries. For one socket, the order of calls is the order
// on the wire.
#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include <netinet/in.h>
#include <poll.h>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "transports/counting_system_calls.hpp"
#include "transports/raw_pair.hpp"
#include "transports/tcp_pair.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

// Waits before it sets an option of TCP until `peer` has something to read, if a test has set that.
class OptionsAfterBytes final : public CountingSystemCalls {
  public:
    std::atomic<int> peer{-1};
    std::atomic<bool> bytesCameFirst{false};

    int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept override {
        if (level == IPPROTO_TCP && peer >= 0) {
            pollfd look{peer, POLLIN, 0};
            bytesCameFirst = ::poll(&look, 1, 5000) == 1;
        }
        return CountingSystemCalls::setsockopt(fd, level, name, value, size);
    }
};

TEST_F(UringTransport, AnOptionOfAStreamIsSetAfterTheBytesThatAnotherFiberHasWritten) {
    OptionsAfterBytes calls;
    UringHost host({}, UringCalls::kernel(), {}, calls);
    host.carrier()
        .spawn([&] {
            RawPair pair(calls);
            TcpStream stream(host.carrier(), host.poller().fiberStream(std::move(pair.own)));
            bool reads = false, writes = false;
            auto reader = host.carrier().spawn([&] {
                std::array<char, 1> byte;
                ErrorCode error;
                reads = true;
                stream.read(byte, error);
                return error;
            });
            while (!reads) thisFiber::yield();  // from now on the stream queues entries
            auto writer = host.carrier().spawn([&] {
                writes = true;
                stream.write({"x"});
            });
            while (!writes) thisFiber::yield();
            calls.peer = pair.peer.get();
            EXPECT_FALSE(stream.setOption(SocketOption::noDelay, 1));
            EXPECT_TRUE(calls.bytesCameFirst);
            writer.join();
            stream.close();
            EXPECT_EQ(reader.join(), operationAborted());
        })
        .join();
}

TEST_F(UringTransport, AnOptionOfAChannelIsSetAfterTheBytesThatItHasSent) {
    OptionsAfterBytes calls;
    UringHost host({}, UringCalls::kernel(), {}, calls);
    RawPair pair(calls);
    ChannelRef channel = Channel::create(host.loop());
    channel->attach(host.poller().stream(std::move(pair.own), *channel));
    channel->setActive(true);
    channel->registerWithLoop().sync();
    host.inLoop([&] {
        channel->setOption(ChannelOption::FLUSH_IMMEDIATELY, true);
        channel->writeAndFlush(Buffer::copyOf("x"));
        calls.peer = pair.peer.get();
        EXPECT_FALSE(channel->setOption(ChannelOption::NO_DELAY, true));
        EXPECT_TRUE(calls.bytesCameFirst);
    });
    channel->close().sync();
}

}  // namespace
}  // namespace weft::test
