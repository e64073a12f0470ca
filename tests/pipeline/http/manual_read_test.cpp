// without AUTO_READ, every read() is requested. A codec that made no message of a read requests the next one
// itself; a codec that passed a message on leaves it to the receiver.
#include <gtest/gtest.h>

#include <string>

#include <weft/http/client_codec.hpp>
#include <weft/http/response_aggregator.hpp>
#include <weft/pipeline/channel_option.hpp>

#include "pipeline/http/codec_server.hpp"
#include "pipeline/scripted_sink.hpp"

namespace weft::http {
namespace {

// A channel without AUTO_READ on which one read() has been called.
struct ManualChannel {
    template <class Fill>
    explicit ManualChannel(Fill fill) {
        channel->setOption(ChannelOption::AUTO_READ, false);
        fill(channel.pipeline());
        channel.start();
        channel->read();
    }
    bool readsOnAfter(const std::string& bytes) {
        channel.deliver({bytes.c_str()});
        channel.run();
        return channel.sink->wantsRead;
    }
    weft::test::ScriptedChannel channel;
};

TEST(HttpManualRead, R6_AServerReadsOnUntilItHasARequest) {
    ManualChannel manual([](ChannelPipeline& pipeline) { pipeline.addLast<ServerCodec>(); });
    EXPECT_TRUE(manual.readsOnAfter("GET / HTTP/1.1\r\nHo"));
    EXPECT_TRUE(manual.readsOnAfter("st: x\r\n"));
    EXPECT_FALSE(manual.readsOnAfter("\r\n"));
    manual.channel->read();
    EXPECT_TRUE(manual.channel.sink->wantsRead);
    EXPECT_FALSE(manual.readsOnAfter("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    manual.channel->read();
    EXPECT_TRUE(manual.readsOnAfter("5"));
    EXPECT_FALSE(manual.readsOnAfter("\r\nhello\r\n"));
}

// While the channel has AUTO_READ, its read cycles end without a call of the codec.
TEST(HttpManualRead, R6_AServerThatMissedReadCyclesReadsOnOnceReadIsCalled) {
    ManualChannel manual([](ChannelPipeline& pipeline) { pipeline.addLast<ServerCodec>(); });
    manual.channel->setOption(ChannelOption::AUTO_READ, true);
    for (int request = 0; request < 3; ++request) EXPECT_TRUE(manual.readsOnAfter("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    manual.channel->setOption(ChannelOption::AUTO_READ, false);
    manual.channel.run();
    EXPECT_FALSE(manual.channel.sink->wantsRead);
    manual.channel->read();
    EXPECT_TRUE(manual.readsOnAfter("GET / HTTP/1.1\r\nHo"));
    EXPECT_FALSE(manual.readsOnAfter("st: x\r\n\r\n"));
}

TEST(HttpManualRead, R6_AnAggregatedServerReadsOnUntilTheBodyIsWhole) {
    int requests = 0;
    ManualChannel manual([&](ChannelPipeline& pipeline) {
        pipeline.addLast<ServerCodec>().addLast<ObjectAggregator>();
        pipeline.addLast<test::Application>([&](ChannelHandlerContext&, FullRequest&) { ++requests; });
    });
    EXPECT_TRUE(manual.readsOnAfter("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n"));
    EXPECT_TRUE(manual.readsOnAfter("ab"));
    EXPECT_TRUE(manual.readsOnAfter("cd"));
    manual.readsOnAfter("ef");
    EXPECT_EQ(requests, 1);
}

TEST(HttpManualRead, R6_AClientReadsOnUntilItHasAResponse) {
    ManualChannel manual([](ChannelPipeline& pipeline) {
        pipeline.addLast<ClientCodec>(ClientCodecOptions{.host = "h"}).addLast<ResponseAggregator>();
    });
    manual.channel->writeAndFlush(Message(ClientRequest()));
    EXPECT_TRUE(manual.readsOnAfter("HTTP/1.1 200 OK\r\nContent-"));
    EXPECT_TRUE(manual.readsOnAfter("Length: 4\r\n\r\n"));
    EXPECT_TRUE(manual.readsOnAfter("ab"));
    manual.readsOnAfter("cd");
    manual.channel->writeAndFlush(Message(ClientRequest()));
    manual.channel->read();
    EXPECT_FALSE(manual.readsOnAfter("HTTP/1.1 204 N\r\n\r\n"));
}

TEST(HttpManualRead, WithAutoReadNothingIsAskedForTwice) {
    struct ReadCounter final : ChannelOutboundHandler {
        void read(ChannelHandlerContext& ctx) override {
            ++reads;
            ctx.read();
        }
        int reads = 0;
    };
    EmbeddedChannel channel;
    channel.pipeline().addLast<ReadCounter>().addLast<ServerCodec>();
    channel.writeInbound(Buffer::copyOf("GET / HT"));
    EXPECT_EQ(channel.pipeline().get<ReadCounter>()->reads, 1);
}

}  // namespace
}  // namespace weft::http
