// A client whose own port happens to be its destination would connect to itself: the connect is refused instead.
#include <gtest/gtest.h>

#include <string>

#include <unistd.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "transports/listenable.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

// A socket bound to its peer's address, as the kernel does by chance once in about 28,000 connects.
Fd boundToItself(const SocketAddress& any, SocketAddress& itself) {
    Fd fd = openTcpSocket(any.family());
    EXPECT_EQ(::bind(fd.get(), any.data(), any.size()), 0);
    itself = detail::localAddressOf(SystemCalls::kernel(), fd.get());
    return fd;
}

void refusedForAFiber(const SocketAddress& any) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        SocketAddress itself;
        const auto stream = host.poller().fiberStream(boundToItself(any, itself));
        EXPECT_EQ(stream->connect(itself, testDeadline()), fromErrno(ECONNREFUSED));
        stream->close();
        EXPECT_TRUE(canBeListenedOn(itself)) << "the server that it waits for cannot start";
    });
}

TEST(SelfConnect, IsRefusedForAFiber) {
    refusedForAFiber(SocketAddress::loopbackV4(0));
}

TEST(SelfConnect, IsRefusedForAFiberOverIpv6) {
    refusedForAFiber(SocketAddress("::1", 0));
}

TEST(SelfConnect, IsRefusedForAChannelAndNamesTheAddress) {
    const DescriptorGuard guard;
    SocketLoops host;
    SocketAddress itself;
    ChannelRef channel = Channel::create(host.loop());
    channel->attach(host.poller().connector(boundToItself(SocketAddress::loopbackV4(0), itself), *channel));
    channel->registerWithLoop().sync();
    const ChannelFuture connected = channel->connect(itself);
    ASSERT_TRUE(connected.awaitUntil(testDeadline()));
    ASSERT_FALSE(connected.success());
    EXPECT_EQ(errorCodeOf(connected.cause()), fromErrno(ECONNREFUSED));
    try {
        std::rethrow_exception(connected.cause());
    } catch (const std::exception& error) {
        EXPECT_NE(std::string(error.what()).find(itself.toString()), std::string::npos) << error.what();
    }
    ASSERT_TRUE(channel->closeFuture().awaitUntil(testDeadline()));
    EXPECT_FALSE(channel->active());
    EXPECT_TRUE(canBeListenedOn(itself)) << "the server that it waits for cannot start";
}

}  // namespace
}  // namespace weft::test
