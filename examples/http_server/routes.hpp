// Routes: the application of http_server; what each path answers.
#pragma once

#include <exception>
#include <memory>
#include <optional>

#include <weft/weft.hpp>

namespace examples {

// What the handlers of all connections share; read only.
struct Site {
    weft::CarrierGroup& carriers;
    std::optional<weft::SocketAddress> backend;
};

// The last handler of a connection's pipeline.
class Routes final : public weft::SimpleInboundHandler<weft::http::FullRequest> {
  public:
    explicit Routes(std::shared_ptr<const Site> site) noexcept : site_(std::move(site)) {}

    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr cause) override;

  protected:
    void channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) override;

  private:
    using Context = weft::ChannelHandlerContext;
    using Request = weft::http::FullRequest;
    struct Route;
    static const Route table[];

    void plaintext(Context& ctx, Request& request);
    void fiber(Context& ctx, Request& request);
    void sleep(Context& ctx, Request& request);
    void fruits(Context& ctx, Request& request);
    void echo(Context& ctx, Request& request);
    void stats(Context& ctx, Request& request);

    const std::shared_ptr<const Site> site_;
};

}  // namespace examples
