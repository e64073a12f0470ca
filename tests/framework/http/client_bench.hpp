// Shared by the tests of http::Client: a group with one client carrier; a server of handlers on a group of its own.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <weft/http/client.hpp>

#include "framework/bench.hpp"

namespace weft::test {

// Calls `answer` for each streamed request, each time in a new fiber.
class FiberServer {
  public:
    using Answer = std::function<void(http::StreamedRequest&, http::Responder)>;

    explicit FiberServer(Answer answer) : answer_(std::move(answer)) {
        ServerBootstrap bootstrap(group_);
        bootstrap.childHandler([this](Channel& channel) {
            channel.pipeline().addLast<http::ServerCodec>().addLast<http::BodyStreamer>().addLast<Handler>(answer_);
        });
        server_ = bootstrap.bind(anyPort).sync().channel();
    }
    const SocketAddress& address() const { return server_.localAddress(); }
    std::string url(std::string_view target) const { return "http://" + address().toString() + std::string(target); }
    std::size_t connections() const { return server_.liveChildren(); }

  private:
    struct Handler final : SimpleInboundHandler<http::StreamedRequest> {
        explicit Handler(const Answer& answer) : answer_(answer) {}
        void channelRead0(ChannelHandlerContext& ctx, http::StreamedRequest request) override {
            ctx.spawn(
                [&answer = answer_, request = std::move(request)]() mutable { answer(request, request.responder()); });
        }
        void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }
        const Answer& answer_;
    };

    const Answer answer_;
    EventLoopGroup group_{groupOptions(1)};
    Server server_;
};

class ClientBench : public ::testing::Test {
  protected:
    void inFiber(const std::function<void()>& body) { carrier().spawn(body).join(); }
    Carrier& carrier() { return group_.carriers().carrier(0); }
    // Polls the condition from a fiber, with a time limit, without blocking the carrier.
    static bool soon(const std::function<bool()>& condition) {
        for (const Deadline end = testDeadline(); !condition();) {
            if (std::chrono::steady_clock::now() > end) return false;
            thisFiber::sleepFor(1ms);
        }
        return true;
    }

    EventLoopGroup group_{groupOptions(1)};
};

inline std::string answerText(std::string_view body, std::string_view headers = {}) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(headers) +
           "\r\n" + std::string(body);
}

}  // namespace weft::test
