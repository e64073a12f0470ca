// Router: the last handler of a server's connection; calls the function of the route that a request asks for.
#pragma once

#include <memory>

#include <weft/http/route_table.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

namespace weft::http {

// Add it after ObjectAggregator. By itself it answers: a path without a route with 404; a method that the path has no
// route for with 405 and Allow; OPTIONS without a route of its own with 204 and Allow, for "*" with the methods of all
// routes; an unregistered method with 501; a malformed path (RouteTable::Outcome::badPath) with 400.
// What a route's function throws goes to exceptionCaught(), and its request is answered with 500.
class Router final : public SimpleInboundHandler<FullRequest> {
  public:
    // Throws std::invalid_argument for null.
    explicit Router(std::shared_ptr<const RouteTable> routes);

  protected:
    void channelRead0(ChannelHandlerContext& ctx, FullRequest request) override;

  private:
    Response answerWithoutRoute(const FullRequest& request, const RouteTable::Match& match) const;

    const std::shared_ptr<const RouteTable> routes_;
};

}  // namespace weft::http
