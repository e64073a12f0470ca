#include <weft/http/router.hpp>

#include <stdexcept>
#include <utility>

namespace weft::http {

Router::Router(std::shared_ptr<const RouteTable> routes) : routes_(std::move(routes)) {
    if (routes_ == nullptr) throw std::invalid_argument("http::Router: the RouteTable is null; give one");
}

void Router::channelRead0(ChannelHandlerContext& ctx, FullRequest request) {
    RouteTable::Match match = routes_->find(request.method(), request.path());
    if (match.outcome == RouteTable::Outcome::found) [[likely]]
        return (*match.function)(ctx, std::move(request), std::move(match.parameters));
    ctx.writeAndFlush(answerWithoutRoute(request, match));
}

Response Router::answerWithoutRoute(const FullRequest& request, const RouteTable::Match& match) const {
    const auto answer = routes_->unrouted(request.method(), request.head().targetForm, match);
    Response response =
        answer.status == Status::noContent ? Response(answer.status) : error(answer.status, answer.reason);
    return answer.hasAllow ? std::move(response).with("Allow", RouteTable::allow(answer.allow)) : std::move(response);
}

}  // namespace weft::http
