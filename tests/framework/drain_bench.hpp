// Shared by the tests of drain() and runUntilSignal(): an HTTP server whose answer the test holds back, and an echo
// whose handler the test blocks.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <weft/pipeline/channel_events.hpp>

#include "framework/bench.hpp"

namespace weft::test {

// "/wait" is answered when the test allows it, everything else at once.
struct Gate {
    Promise<void> asked;
    Promise<void> open;
};

class Application final : public SimpleInboundHandler<http::FullRequest> {
  public:
    explicit Application(Gate& gate) : gate_(gate) {}

  protected:
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (request.path() != "/wait") return request.responder().send(http::ok("at once"));
        gate_.asked.setValue();
        ctx.spawn([open = gate_.open.future(), responder = request.responder()]() mutable {
            open.await();
            responder.send(http::ok("at last"));
        });
    }

  private:
    Gate& gate_;
};

inline Server serveHttp(EventLoopGroup& group, Gate& gate) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&gate](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Application>(gate);
    });
    return bootstrap.bind(anyPort).sync().channel();
}

inline std::string receiveAll(BlockingPeer& peer) {
    std::string all;
    for (std::string more = peer.receive(); !more.empty(); more = peer.receive()) all += more;
    return all;
}

inline constexpr std::string_view waitRequest = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";

// An echo that obeys a drain. "stick" blocks its loop inside the handler until the test releases it. "wait" starts a
// fiber that waits until it is cancelled; then the connection does not obey.
class Stuck final : public ChannelInboundHandler {
  public:
    static inline std::atomic<bool> stuck{false};

    explicit Stuck(std::atomic<bool>& release) : release_(release) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        while (message.get<Buffer>().view() == "stick" && !release_) {
            stuck = true;
            std::this_thread::yield();
        }
        if (message.get<Buffer>().view() == "wait") {
            waits_ = true;
            ctx.spawn([] { thisFiber::sleepFor(std::chrono::hours(1)); });
        }
        ctx.writeAndFlush(std::move(message));
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<DrainStarted>() && !waits_) ctx.close();
    }

  private:
    std::atomic<bool>& release_;
    bool waits_ = false;
};

}  // namespace weft::test
