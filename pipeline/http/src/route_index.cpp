#include <weft/http/detail/route_index.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>

#include <weft/http/percent_encoding.hpp>
#include <weft/pipeline/detail/printable.hpp>

namespace weft::http::detail {

namespace {

constexpr std::size_t methodCount = static_cast<std::size_t>(Method::other);

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
    throw std::invalid_argument("http: route pattern '" + weft::detail::printable(pattern) + "': " + why);
}

// The decoded segment; nothing if it is malformed, or names another place than the one below its parent.
std::optional<std::string> decodedSegment(std::string_view segment) {
    auto text = percentDecode(segment);
    if (!text || *text == "." || *text == ".." || text->find('\0') != std::string::npos) return std::nullopt;
    return text;
}

bool hasSlash(std::string_view text) noexcept {
    return text.find('/') != std::string_view::npos;
}

struct PatternSegment {
    enum class Kind : std::uint8_t { literal, parameter, rest } kind;
    std::string text;  // the literal, decoded, or the parameter's name
};

PatternSegment parsed(std::string_view segment, std::string_view pattern) {
    constexpr std::string_view dots = "...";
    if (segment.find_first_of("{}") == std::string_view::npos) {
        auto text = decodedSegment(segment);
        if (!text || hasSlash(*text))
            refuse(pattern, "no request can match a malformed escape, an escaped '/', a NUL, or a segment '.' or '..'");
        return {PatternSegment::Kind::literal, std::move(*text)};
    }
    if (!segment.starts_with('{') || !segment.ends_with('}'))
        refuse(pattern, "a {parameter} must be a whole segment, between two '/'");
    std::string_view name = segment.substr(1, segment.size() - 2);
    const bool rest = name.ends_with(dots);
    if (rest) name.remove_suffix(dots.size());
    if (name.empty() || name.find_first_of("{}") != std::string_view::npos)
        refuse(pattern, "a parameter needs a name: {id} or {path...}");
    return {rest ? PatternSegment::Kind::rest : PatternSegment::Kind::parameter, std::string(name)};
}

}  // namespace

struct RouteIndex::Route {
    std::size_t number;
    std::vector<std::string> names;  // of the parameters, in order
};

struct RouteIndex::Endpoint {
    const Route* route(Method method) const noexcept {
        if (!isKnown(method)) return nullptr;
        const Route* const own = routes[static_cast<std::size_t>(method)].get();
        return own == nullptr && method == Method::head ? routes[static_cast<std::size_t>(Method::get)].get() : own;
    }

    std::array<std::unique_ptr<Route>, methodCount> routes;
    std::uint16_t methods = 0;
};

// A segment of the patterns; the root is in front of the first one.
struct RouteIndex::Node {
    static Endpoint& made(std::unique_ptr<Endpoint>& place) {
        if (!place) place = std::make_unique<Endpoint>();
        return *place;
    }

    std::map<std::string, Node, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::unique_ptr<Endpoint> end;
    std::unique_ptr<Endpoint> rest;
};

struct RouteIndex::Tree {
    Node root;
    std::map<std::string, const Endpoint*, std::less<>> literalPaths;  // patterns without parameters
};

RouteIndex::RouteIndex(PathValues values) : tree_(std::make_unique<Tree>()), values_(values) {}
RouteIndex::RouteIndex(RouteIndex&&) noexcept = default;
RouteIndex& RouteIndex::operator=(RouteIndex&&) noexcept = default;
RouteIndex::~RouteIndex() = default;

std::size_t RouteIndex::add(Method method, std::string_view pattern) {
    if (const auto number = tryAdd(method, pattern)) return *number;
    refuse(pattern, "it already has a route for this method");
}

std::optional<std::size_t> RouteIndex::tryAdd(Method method, std::string_view pattern) {
    if (!isKnown(method)) throw std::invalid_argument("http: a route needs a registered method");
    if (!pattern.starts_with('/')) refuse(pattern, "it must begin with '/'");
    Node* node = &tree_->root;
    Endpoint* end = nullptr;
    auto route = std::make_unique<Route>();
    route->number = size_;
    for (const std::string_view segment : segmentsOf(pattern)) {
        if (end != nullptr) refuse(pattern, "{name...} must be its last segment");
        const auto [kind, text] = parsed(segment, pattern);
        if (kind == PatternSegment::Kind::literal) {
            node = &node->literals.try_emplace(text).first->second;
            continue;
        }
        if (std::find(route->names.begin(), route->names.end(), text) != route->names.end())
            refuse(pattern, "two parameters have the same name");
        route->names.emplace_back(text);
        if (kind == PatternSegment::Kind::rest) {
            end = &Node::made(node->rest);
        } else {
            if (!node->parameter) node->parameter = std::make_unique<Node>();
            node = node->parameter.get();
        }
    }
    if (end == nullptr) end = &Node::made(node->end);
    auto& place = end->routes[static_cast<std::size_t>(method)];
    if (place) return std::nullopt;
    if (route->names.empty()) tree_->literalPaths.emplace(pattern, end);
    place = std::move(route);
    end->methods |= bitOf(method);
    methods_ |= bitOf(method);
    return size_++;
}

// Of one path; visits each node at most once, since the nodes are a tree.
class RouteIndex::Search {
  public:
    Search(Method method, std::string_view path, PathValues given)
        : method_(method), raw_(given == PathValues::raw), segments_(segmentsOf(path)) {}

    // False: a segment is malformed. Checks what decoding has made, because a route joins values to other paths.
    bool decode() {
        decoded_.reserve(segments_.size());
        for (const std::string_view segment : segments_) {
            auto text = decodedSegment(segment);
            if (!text || (!raw_ && hasSlash(*text))) return false;
            decoded_.push_back(std::move(*text));
        }
        // Of a rest, only the last segment may be empty: it ends in '/'.
        for (std::size_t at = 0; !raw_ && at + 1 < decoded_.size(); ++at) {
            if (decoded_[at].empty()) normalFrom_ = at + 1;
        }
        return true;
    }

    // The route, with values() of its parameters; or null, with methods() of the patterns that match and badRest().
    const Route* in(const Node& node, std::size_t at = 0) {
        if (at == decoded_.size()) return node.end ? routeOf(*node.end) : nullptr;
        const std::string& segment = decoded_[at];
        if (const auto literal = node.literals.find(segment); literal != node.literals.end()) {
            if (const Route* const found = in(literal->second, at + 1)) return found;
        }
        if (node.parameter && !segment.empty()) {
            values_.push_back(valueOf(at));
            if (const Route* const found = in(*node.parameter, at + 1)) return found;
            values_.pop_back();
        }
        if (!node.rest) return nullptr;
        if (at < normalFrom_) {
            badRest_ = true;
            return nullptr;
        }
        values_.push_back(restFrom(at));
        if (const Route* const found = routeOf(*node.rest)) return found;
        values_.pop_back();
        return nullptr;
    }

    std::vector<std::string>& values() noexcept { return values_; }
    std::uint16_t methods() const noexcept { return methods_; }
    // Patterns with {path...} match, but its value would not be in normal form.
    bool badRest() const noexcept { return badRest_; }

  private:
    const Route* routeOf(const Endpoint& end) noexcept {
        methods_ |= end.methods;
        return end.route(method_);
    }
    std::string valueOf(std::size_t at) const { return raw_ ? std::string(segments_[at]) : decoded_[at]; }
    std::string restFrom(std::size_t at) const {
        std::string rest = valueOf(at);
        for (std::size_t i = at + 1; i < decoded_.size(); ++i) rest.append("/").append(valueOf(i));
        return rest;
    }

    const Method method_;
    const bool raw_;
    bool badRest_ = false;
    std::size_t normalFrom_ = 0;  // a rest that begins before this segment is not in normal form
    const std::vector<std::string_view> segments_;
    std::vector<std::string> decoded_;
    std::vector<std::string> values_;
    std::uint16_t methods_ = 0;
};

void RouteIndex::find(Method method, std::string_view path, Match& match) const {
    if (const auto literal = tree_->literalPaths.find(path); literal != tree_->literalPaths.end()) {
        if (const Route* const route = literal->second->route(method)) {
            match.outcome = Outcome::found;
            match.route = route->number;
            return;
        }
    }
    if (!path.starts_with('/')) return;  // "*", or the authority of CONNECT
    Search search(method, path, values_);
    if (!search.decode()) {
        match.outcome = Outcome::badPath;
        return;
    }
    const Route* const route = search.in(tree_->root);
    if (route == nullptr) {
        match.methods = search.methods();
        match.outcome = match.methods != 0 ? Outcome::noMethod : search.badRest() ? Outcome::badPath : Outcome::noPath;
        return;
    }
    match.outcome = Outcome::found;
    match.route = route->number;
    for (std::size_t i = 0; i < route->names.size(); ++i)
        match.parameters.values_.emplace_back(route->names[i], std::move(search.values()[i]));
}

RouteIndex::Unrouted RouteIndex::unrouted(Method method, TargetForm form, const Match& match) const noexcept {
    if (!isKnown(method)) return {Status::notImplemented};
    if (match.outcome == Outcome::badPath) {
        return {Status::badRequest,
                "the path has a malformed escape, a NUL, a segment '.' or '..', or an escaped or repeated '/' inside a "
                "parameter"};
    }
    if (method == Method::options && form == TargetForm::asterisk) return {Status::noContent, {}, true, methods_};
    if (match.outcome == Outcome::noPath) return {Status::notFound};
    if (method == Method::options) return {Status::noContent, {}, true, match.methods};
    return {Status::methodNotAllowed, {}, true, match.methods};
}

std::string RouteIndex::allow(std::uint16_t methods) {
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

}  // namespace weft::http::detail
