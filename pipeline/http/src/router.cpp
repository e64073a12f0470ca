#include <weft/http/router.hpp>

#include <stdexcept>
#include <utility>

namespace weft::http {

namespace {

Response withAllow(Response response, std::uint16_t methods) {
    response.headers.add("Allow", RouteTable::allow(methods));
    return response;
}

}  // namespace

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
    const Method method = request.method();
    if (!isKnown(method)) return error(Status::notImplemented);
    if (match.outcome == RouteTable::Outcome::badPath)
        return error(Status::badRequest,
                     "the path has a malformed escape, a NUL, a segment '.' or '..', or an escaped or "
                     "repeated '/' inside a parameter");
    if (method == Method::options && request.head().targetForm == TargetForm::asterisk)
        return withAllow(Response(Status::noContent), routes_->methods());
    if (match.outcome == RouteTable::Outcome::noPath) return error(Status::notFound);
    if (method == Method::options) return withAllow(Response(Status::noContent), match.methods);
    return withAllow(error(Status::methodNotAllowed), match.methods);
}

}  // namespace weft::http
