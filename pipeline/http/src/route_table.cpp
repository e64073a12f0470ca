#include <weft/http/route_table.hpp>

namespace weft::http {

void RouteTable::addRoute(Method method, std::string_view pattern, Function function) {
    functions_.push_back(std::move(function));
    try {
        index_.add(method, pattern);
    } catch (...) {
        functions_.pop_back();
        throw;
    }
}

RouteTable::Match RouteTable::find(Method method, std::string_view path) const {
    Match match;
    index_.find(method, path, match);
    if (match.outcome == Outcome::found) match.function = &functions_[match.route];
    return match;
}

std::string RouteTable::allow(std::uint16_t methods) {
    return detail::RouteIndex::allow(methods);
}

}  // namespace weft::http
