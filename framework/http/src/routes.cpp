#include <weft/http/routes.hpp>

#include "service_draft.hpp"

namespace weft::http {

Routes& Routes::add(Method method, std::string_view pattern, RouteFunction function, const RouteOptions& options) {
    draft_->add(group_, method, pattern, std::move(function), options);
    return *this;
}

Routes& Routes::any(std::string_view pattern, RouteFunction function, const RouteOptions& options) {
    draft_->add(group_, std::nullopt, pattern, std::move(function), options);
    return *this;
}

Routes Routes::group(std::string_view prefix, const RouteOptions& options) {
    return Routes(draft_, draft_->addGroup(group_, prefix, options));
}

void Routes::addMiddleware(Middleware middleware) {
    draft_->use(group_, std::move(middleware));
}

void Routes::addOnServed(UniqueFunction<void(const Served&)> function) {
    draft_->addOnServed(group_, std::move(function));
}

}  // namespace weft::http
