// Inspect (--inspect): answers every request with the parser's view of it, for conformance tests.
#pragma once

#include <weft/weft.hpp>

namespace examples {

// The last handler of a connection's pipeline. Every value is base64, because a request may contain any byte.
class Inspect final : public weft::SimpleInboundHandler<weft::http::FullRequest> {
  public:
    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr cause) override;

  protected:
    void channelRead0(weft::ChannelHandlerContext& ctx, weft::http::FullRequest request) override;
};

}  // namespace examples
