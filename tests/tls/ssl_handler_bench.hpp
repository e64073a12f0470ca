// Shared by the tests of SslHandler: a fixture for each transport, and a handler that tells what it sees.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/tls/ssl_engine.hpp>
#include <weft/tls/ssl_handler.hpp>

#include "framework/bench.hpp"
#include "tls/engine_pair.hpp"
#include "tls/tls_peer.hpp"

namespace weft::test {

// What the handlers of one channel have seen, in order.
class Story {
  public:
    void add(std::string event) {
        const std::lock_guard lock(mutex_);
        events_.push_back(std::move(event));
    }
    std::vector<std::string> events() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }
    bool has(const std::string& event) const {
        const std::lock_guard lock(mutex_);
        return std::find(events_.begin(), events_.end(), event) != events_.end();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> events_;
};

inline ErrorCode codeOf(const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const SystemError& error) {
        return error.code();
    }
}

struct Teller final : ChannelInboundHandler {
    explicit Teller(Story& story) : story(story) {}
    void channelActive(ChannelHandlerContext& ctx) override {
        story.add("active");
        ctx.fireChannelActive();
    }
    void channelInactive(ChannelHandlerContext& ctx) override {
        story.add("inactive");
        ctx.fireChannelInactive();
    }
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        story.add("read " + std::string(message.get<Buffer>().view()));
        ctx.fireChannelRead(std::move(message));
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        if (event.is<SslHandshakeCompletionEvent>()) {
            const ErrorCode error = event.get<SslHandshakeCompletionEvent>().error;
            story.add(error ? "handshake failed: " + error.message() : "handshake");
        }
        if (event.is<SslCloseCompletionEvent>()) story.add("peer closed");
        ctx.fireUserEventTriggered(std::move(event));
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        story.add("exception: " + codeOf(cause).message());
    }
    Story& story;
};

class SslHandlerTest : public ::testing::TestWithParam<Transport::Kind> {
  protected:
    SslHandlerTest() {
        EventLoopGroupOptions options = groupOptions(1);
        options.transport = GetParam();
        group.emplace(options);
    }
    // Echoes; tells what the handlers see.
    Server serve(SslHandlerOptions options = {}, const SslServerOptions& tls = serverOptions()) {
        ServerBootstrap bootstrap(*group);
        bootstrap.childHandler([this, options, context = SslContext::server(tls)](Channel& channel) {
            channel.pipeline().addLast<SslHandler>(context, options).addLast<Teller>(story).addLast<Echo>();
        });
        return bootstrap.bind(anyPort).sync().channel();
    }

    Story story;
    std::optional<EventLoopGroup> group;
};

}  // namespace weft::test
