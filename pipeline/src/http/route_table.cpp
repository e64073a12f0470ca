#include <weft/pipeline/http/route_table.hpp>

#include <algorithm>
#include <stdexcept>

#include <weft/pipeline/http/percent_encoding.hpp>

namespace weft::http {

namespace {

std::uint16_t bitOf(Method method) noexcept {
    return static_cast<std::uint16_t>(1u << static_cast<unsigned>(method));
}

// "/a/b" -> "a", "b"; "/" -> "".
std::vector<std::string_view> segmentsOf(std::string_view path) {
    std::vector<std::string_view> segments;
    for (path.remove_prefix(1);;) {
        const std::size_t end = path.find('/');
        segments.push_back(path.substr(0, end));
        if (end == std::string_view::npos) return segments;
        path.remove_prefix(end + 1);
    }
}

[[noreturn]] void refuse(std::string_view pattern, const char* why) {
    throw std::invalid_argument("http::RouteTable: pattern '" + std::string(pattern) + "': " + why);
}

struct PatternSegment {
    enum class Kind : std::uint8_t { literal, parameter, rest } kind;
    std::string_view text;  // the literal, or the parameter's name
};

PatternSegment parsed(std::string_view segment, std::string_view pattern) {
    constexpr std::string_view dots = "...";
    if (segment.find_first_of("{}") == std::string_view::npos) return {PatternSegment::Kind::literal, segment};
    if (!segment.starts_with('{') || !segment.ends_with('}'))
        refuse(pattern, "a {parameter} must be a whole segment, between two '/'");
    std::string_view name = segment.substr(1, segment.size() - 2);
    const bool rest = name.ends_with(dots);
    if (rest) name.remove_suffix(dots.size());
    if (name.empty() || name.find_first_of("{}") != std::string_view::npos)
        refuse(pattern, "a parameter needs a name: {id} or {path...}");
    return {rest ? PatternSegment::Kind::rest : PatternSegment::Kind::parameter, name};
}

}  // namespace

std::string_view PathParameters::operator[](std::string_view name) const {
    for (const auto& [its, value] : values_) {
        if (its == name) return value;
    }
    throw std::out_of_range("http::PathParameters: the route's pattern has no {" + std::string(name) + "}");
}

RouteTable::Endpoint& RouteTable::endpointOf(std::unique_ptr<Endpoint>& place) {
    if (!place) place = std::make_unique<Endpoint>();
    return *place;
}

void RouteTable::addRoute(Method method, std::string_view pattern, Function function) {
    if (!isKnown(method)) throw std::invalid_argument("http::RouteTable: a route needs a registered method");
    if (!pattern.starts_with('/')) refuse(pattern, "it must begin with '/'");
    Node* node = &root_;
    Endpoint* end = nullptr;
    auto route = std::make_unique<Route>();
    for (const std::string_view segment : segmentsOf(pattern)) {
        if (end != nullptr) refuse(pattern, "{name...} must be its last segment");
        const auto [kind, text] = parsed(segment, pattern);
        if (kind == PatternSegment::Kind::literal) {
            node = &node->literals.try_emplace(std::string(text)).first->second;
            continue;
        }
        if (std::find(route->names.begin(), route->names.end(), text) != route->names.end())
            refuse(pattern, "two parameters have the same name");
        route->names.emplace_back(text);
        if (kind == PatternSegment::Kind::rest) {
            end = &endpointOf(node->rest);
        } else {
            if (!node->parameter) node->parameter = std::make_unique<Node>();
            node = node->parameter.get();
        }
    }
    if (end == nullptr) end = &endpointOf(node->end);
    auto& place = end->routes[static_cast<std::size_t>(method)];
    if (place) refuse(pattern, "it already has a route for this method");
    if (route->names.empty()) literalPaths_.emplace(pattern, end);
    route->function = std::move(function);
    place = std::move(route);
    end->methods |= bitOf(method);
    methods_ |= bitOf(method);
}

const RouteTable::Route* RouteTable::Endpoint::route(Method method) const noexcept {
    if (!isKnown(method)) return nullptr;
    const Route* const own = routes[static_cast<std::size_t>(method)].get();
    return own == nullptr && method == Method::head ? routes[static_cast<std::size_t>(Method::get)].get() : own;
}

// Of one path; visits each node at most once, since the nodes are a tree.
class RouteTable::Search {
  public:
    Search(Method method, std::string_view path) : method_(method), segments_(segmentsOf(path)) {}

    // False: a segment is malformed.
    bool decode() {
        decoded_.reserve(segments_.size());
        for (const std::string_view segment : segments_) {
            auto text = percentDecode(segment);
            if (!text || *text == "." || *text == ".." || text->find('\0') != std::string::npos) return false;
            decoded_.push_back(std::move(*text));
        }
        return true;
    }

    // The route, with values() of its parameters; or null, and methods() of the patterns that match.
    const Route* in(const Node& node, std::size_t at = 0) {
        if (at == decoded_.size()) return node.end ? routeOf(*node.end) : nullptr;
        const std::string& segment = decoded_[at];
        if (const auto literal = node.literals.find(segment); literal != node.literals.end()) {
            if (const Route* const found = in(literal->second, at + 1)) return found;
        }
        if (node.parameter && !segment.empty()) {
            values_.push_back(segment);
            if (const Route* const found = in(*node.parameter, at + 1)) return found;
            values_.pop_back();
        }
        if (!node.rest) return nullptr;
        values_.push_back(restFrom(at));
        if (const Route* const found = routeOf(*node.rest)) return found;
        values_.pop_back();
        return nullptr;
    }

    std::vector<std::string>& values() noexcept { return values_; }
    std::uint16_t methods() const noexcept { return methods_; }

  private:
    const Route* routeOf(const Endpoint& end) noexcept {
        methods_ |= end.methods;
        return end.route(method_);
    }
    std::string restFrom(std::size_t at) const {
        std::string rest = decoded_[at];
        for (std::size_t i = at + 1; i < decoded_.size(); ++i) rest += '/' + decoded_[i];
        return rest;
    }

    const Method method_;
    const std::vector<std::string_view> segments_;
    std::vector<std::string> decoded_;
    std::vector<std::string> values_;
    std::uint16_t methods_ = 0;
};

RouteTable::Match RouteTable::find(Method method, std::string_view path) const {
    Match match;
    if (const auto literal = literalPaths_.find(path); literal != literalPaths_.end()) {
        if (const Route* const route = literal->second->route(method)) {
            match.outcome = Outcome::found;
            match.function = &route->function;
            return match;
        }
    }
    if (!path.starts_with('/')) return match;  // "*", or the authority of CONNECT
    Search search(method, path);
    if (!search.decode()) {
        match.outcome = Outcome::badPath;
        return match;
    }
    const Route* const route = search.in(root_);
    if (route == nullptr) {
        match.methods = search.methods();
        match.outcome = match.methods != 0 ? Outcome::noMethod : Outcome::noPath;
        return match;
    }
    match.outcome = Outcome::found;
    match.function = &route->function;
    for (std::size_t i = 0; i < route->names.size(); ++i)
        match.parameters.values_.emplace_back(route->names[i], std::move(search.values()[i]));
    return match;
}

std::string RouteTable::allow(std::uint16_t methods) {
    if ((methods & bitOf(Method::get)) != 0) methods |= bitOf(Method::head);
    methods |= bitOf(Method::options);
    std::string text;
    for (unsigned i = 0; i < methodCount; ++i) {
        if ((methods >> i & 1) == 0) continue;
        if (!text.empty()) text += ", ";
        text += nameOf(static_cast<Method>(i));
    }
    return text;
}

}  // namespace weft::http
