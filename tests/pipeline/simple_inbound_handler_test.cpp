// SimpleInboundHandler of several types.
#include <weft/pipeline/simple_inbound_handler.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/embedded_channel.hpp>

namespace weft {
namespace {

struct Both final : SimpleInboundHandler<std::string, int> {
    explicit Both(std::vector<std::string>& log) : log(log) {}
    void channelRead0(ChannelHandlerContext&, std::string text) override { log.push_back("text " + text); }
    void channelRead0(ChannelHandlerContext& ctx, int number) override {
        log.push_back("number " + std::to_string(number));
        if (number < 0) ctx.fireChannelRead(Message(std::move(number)));
    }
    std::vector<std::string>& log;
};

TEST(SimpleInboundHandler, OfSeveralTypesCallsTheOverloadOfEachAndPassesTheRestOn) {
    std::vector<std::string> log;
    EmbeddedChannel channel;
    channel.pipeline().addLast<Both>(log);
    channel.writeInbound(std::string("a"));
    channel.writeInbound(int{1});
    channel.writeInbound(double{0.5});
    channel.writeInbound(int{-1});
    EXPECT_EQ(log, (std::vector<std::string>{"text a", "number 1", "number -1"}));
    EXPECT_EQ(channel.readInbound<double>(), 0.5);
    EXPECT_EQ(channel.readInbound<int>(), -1);
}

}  // namespace
}  // namespace weft
