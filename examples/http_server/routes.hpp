// The application of http_server: what each path answers.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>

#include <weft/weft.hpp>

namespace examples {

// What the routes of all connections share; read only.
struct Site {
    weft::CarrierGroup& carriers;
    std::optional<weft::SocketAddress> backend;
    std::optional<std::chrono::milliseconds> requestTimeout;  // of requests that fibers answer
};

std::shared_ptr<const weft::http::RouteTable> makeRoutes(const std::shared_ptr<const Site>& site);

// The last handler of a connection: a peer that resets it is worth a debug line only.
struct CloseOnError final : weft::ChannelInboundHandler {
    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr cause) override;
};

}  // namespace examples
