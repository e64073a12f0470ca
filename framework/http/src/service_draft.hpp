// ServiceDraft: a Service until it serves.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/http/service.hpp>

#include "service_plan.hpp"

namespace weft::http::detail {

class ServiceDraft {
  public:
    // Throws std::invalid_argument for options out of range.
    explicit ServiceDraft(ServiceOptions given);

    void add(std::size_t group, std::optional<Method> method, std::string_view pattern, RouteFunction function,
             const RouteOptions& its);
    void use(std::size_t group, Middleware middleware);
    void addOnServed(std::size_t group, OnServed function);
    std::size_t addGroup(std::size_t parent, std::string_view prefix, const RouteOptions& its);
    void requireOpen(const char* call) const;
    // Made at the first call; from then on nothing can be added.
    std::shared_ptr<const ServicePlan> plan();

    const ServiceOptions options;
    ServicePlan::OnError onError;
    UniqueFunction<void()> onStart;
    std::vector<CommandLineOption> commandLine;

  private:
    static constexpr std::size_t service = 0;  // the group of all routes

    struct Group {
        std::size_t parent;  // of the Service: itself
        std::string prefix;
        RouteOptions options;
        std::vector<const Middleware*> middleware = {};  // the outermost first
        std::vector<OnServed*> onServed = {};
    };
    struct Route {
        std::size_t group;
        std::optional<Method> method;  // nothing: any
        std::string pattern;
        RouteFunction function;
        RouteOptions options;
    };

    std::shared_ptr<ServicePlan> makePlan();
    void addToPlan(ServicePlan& plan, Route&& route) const;
    void inherit(ServiceRoute& route, std::size_t group) const;
    RouteOptions optionsOf(std::size_t group, RouteOptions options) const;

    std::vector<Group> groups_;
    std::vector<Route> routes_;
    std::deque<Middleware> middleware_;
    std::deque<OnServed> onServed_;
    RouteIndex patterns_;  // of the routes, to find a wrong one when it is added
    RouteIndex anyPatterns_;
    std::shared_ptr<const ServicePlan> plan_;
};

}  // namespace weft::http::detail
