#include "service_draft.hpp"

#include <chrono>
#include <limits>
#include <stdexcept>

#include <weft/pipeline/detail/printable.hpp>

namespace weft::http::detail {

namespace {

constexpr std::size_t usualMaxBody = std::size_t{8} << 20;
constexpr std::size_t largestMaxBody = std::size_t{2} << 30;
constexpr Duration shortestDeadline = std::chrono::milliseconds(1);
constexpr Method anyMethods[] = {Method::get,     Method::post,  Method::put,  Method::delete_,
                                 Method::options, Method::trace, Method::patch};  // GET answers HEAD

void check(const RouteOptions& options, const std::string& what) {
    if (options.maxBody && *options.maxBody > largestMaxBody) {
        throw std::invalid_argument(what + ": maxBody is " + std::to_string(*options.maxBody) + "; accepted: 0 to " +
                                    std::to_string(largestMaxBody));
    }
    if (options.deadline && *options.deadline < shortestDeadline) {
        throw std::invalid_argument(what + ": the deadline is " + std::to_string(options.deadline->count()) +
                                    " ns; accepted: 1 ms or longer, or none");
    }
    if (options.inLoop.value_or(false) && (options.deadline || options.streamed.value_or(false)))
        throw std::invalid_argument(what + ": inLoop does not go with a deadline or streamed: it must not block");
}

// What `inner` leaves unset is that of `outer`.
RouteOptions within(const RouteOptions& outer, RouteOptions inner) {
    if (!inner.maxBody) inner.maxBody = outer.maxBody;
    const bool blocks = inner.deadline || inner.streamed.value_or(false);
    if (!inner.inLoop) inner.inLoop = blocks ? false : outer.inLoop;
    const bool inLoop = inner.inLoop.value_or(false);
    if (!inner.deadline && !inLoop) inner.deadline = outer.deadline;
    if (!inner.streamed && !inLoop) inner.streamed = outer.streamed;
    return inner;
}

std::string described(std::string_view pattern) {
    return "http: route '" + weft::detail::printable(pattern) + "'";
}

}  // namespace

ServiceDraft::ServiceDraft(ServiceOptions given)
    : options(std::move(given)), patterns_(options.pathValues), anyPatterns_(options.pathValues) {
    check(options.routes, "http::ServiceOptions");
    if (options.maxInFlight < 1 || options.maxInFlight > 1024) {
        throw std::invalid_argument("http::ServiceOptions: maxInFlight is " + std::to_string(options.maxInFlight) +
                                    "; accepted: 1 to 1024");
    }
    options.limits.validate();
    options.timeouts.validate();
    groups_.push_back({service, "", options.routes});
}

void ServiceDraft::requireOpen(const char* call) const {
    if (plan_) throw std::logic_error(std::string("http::Service::") + call + " called after run() or bind()");
}

void ServiceDraft::add(std::size_t group, std::optional<Method> method, std::string_view pattern,
                       RouteFunction function, const RouteOptions& its) {
    requireOpen("add");
    const std::string whole = groups_[group].prefix + std::string(pattern);
    check(its, described(whole));
    if (method) {
        patterns_.add(*method, whole);
    } else {
        anyPatterns_.add(Method::get, whole);
    }
    routes_.push_back({group, method, whole, std::move(function), its});
}

void ServiceDraft::use(std::size_t group, Middleware middleware) {
    requireOpen("use");
    groups_[group].middleware.push_back(&middleware_.emplace_back(std::move(middleware)));
}

void ServiceDraft::addOnServed(std::size_t group, OnServed function) {
    requireOpen("onServed");
    groups_[group].onServed.push_back(&onServed_.emplace_back(std::move(function)));
}

std::size_t ServiceDraft::addGroup(std::size_t parent, std::string_view prefix, const RouteOptions& its) {
    requireOpen("group");
    const std::string what = "http: group '" + weft::detail::printable(prefix) + "'";
    if (!prefix.empty() && (!prefix.starts_with('/') || prefix.ends_with('/')))
        throw std::invalid_argument(what + ": a prefix is \"\", or begins with '/' and does not end with one");
    check(its, what);
    groups_.push_back({parent, groups_[parent].prefix + std::string(prefix), its});
    return groups_.size() - 1;
}

std::shared_ptr<const ServicePlan> ServiceDraft::plan() {
    if (!plan_) plan_ = makePlan();
    return plan_;
}

std::shared_ptr<ServicePlan> ServiceDraft::makePlan() {
    auto plan = std::make_shared<ServicePlan>(options.pathValues);
    ServerCodecOptions codec;
    codec.limits = options.limits;
    codec.timeouts = options.timeouts;
    codec.serverName = options.serverName;
    codec.maxInFlight = options.maxInFlight;
    plan->codec = std::make_shared<const ServerCodecOptions>(std::move(codec));
    plan->unrouted.plan = plan.get();
    plan->unrouted.deadline = options.routes.deadline;
    inherit(plan->unrouted, service);
    // Those of any() come last: they take what is left.
    for (const bool any : {false, true}) {
        for (Route& route : routes_) {
            if (!route.method.has_value() == any) addToPlan(*plan, std::move(route));
        }
    }
    routes_.clear();
    plan->middleware = std::move(middleware_);
    plan->onServed = std::move(onServed_);
    plan->onError = std::move(onError);
    return plan;
}

void ServiceDraft::addToPlan(ServicePlan& plan, Route&& route) const {
    const RouteOptions its = optionsOf(route.group, route.options);
    const bool streamed = its.streamed.value_or(false);
    ServiceRoute& made = plan.routes.emplace_back();
    made.plan = &plan;
    made.pattern = std::move(route.pattern);
    made.function.emplace(std::move(route.function));
    inherit(made, route.group);
    made.maxBody = its.maxBody.value_or(streamed ? std::numeric_limits<std::size_t>::max() : usualMaxBody);
    made.maxGathered = its.maxBody.value_or(usualMaxBody);
    made.deadline = its.deadline;
    made.streamed = streamed;
    made.inLoop = its.inLoop.value_or(false);
    const auto addFor = [&](Method method) {
        if (plan.index.tryAdd(method, made.pattern)) plan.byNumber.push_back(&made);
    };
    if (route.method) return addFor(*route.method);
    for (const Method method : anyMethods) addFor(method);
}

// What the groups around a route give it, the outermost first.
void ServiceDraft::inherit(ServiceRoute& route, std::size_t group) const {
    const Group& its = groups_[group];
    if (group != service) inherit(route, its.parent);
    route.middleware.insert(route.middleware.end(), its.middleware.begin(), its.middleware.end());
    route.onServed.insert(route.onServed.end(), its.onServed.begin(), its.onServed.end());
    route.told = !route.onServed.empty();
}

RouteOptions ServiceDraft::optionsOf(std::size_t group, RouteOptions inner) const {
    const RouteOptions its = within(groups_[group].options, inner);
    return group == service ? its : optionsOf(groups_[group].parent, its);
}

}  // namespace weft::http::detail
