// What a channel writes while it is not registered with its loop.
#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>

#include "transports/blocking_peer.hpp"
#include "transports/raw_pair.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

TEST(TcpChannel, S6_BytesFlushedWhileDeregisteredArriveAfterTheNextRegistration) {
    const DescriptorGuard guard;
    SocketLoops host;
    RawPair pair;
    const ChannelRef channel = Channel::create(host.loop());
    channel->attach(host.poller().stream(std::move(pair.own), *channel));
    channel->setActive(true);
    channel->registerWithLoop().sync();
    channel->deregister().sync();
    host.inLoop([&] {
        ASSERT_FALSE(channel->registered());
        channel->writeAndFlush(Buffer::copyOf("waits "));
        channel->write(Buffer::copyOf("too"));
    });
    channel->registerWithLoop().sync();
    BlockingPeer peer(pair.peer.release());
    EXPECT_EQ(peer.receiveExactly(6), "waits ");
    host.inLoop([&] { channel->writeAndFlush(Buffer::copyOf("!")); });
    EXPECT_EQ(peer.receiveExactly(4), "too!");
    channel->close().sync();
}

}  // namespace
}  // namespace weft::test
