// Routes: the routes of a Service, or of a group of it with a prefix, middleware and options of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/http/method.hpp>
#include <weft/http/route_function.hpp>
#include <weft/http/served.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

// Of a route; of a group or a Service, for the routes that leave them unset.
struct RouteOptions {
    // Bytes of a request's body, 0 to 2 GiB; a longer one is answered with 413, at its head if that announces the size.
    // A connection may hold ServiceOptions::maxInFlight of them. Unset: 8 MiB, which a JSON document hardly exceeds;
    // with `streamed`, no limit but for RequestBody::view() and take(), since a body that is read in pieces takes no
    // memory.
    std::optional<std::size_t> maxBody = {};
    // From the start of the fiber: every wait in it ends then, and the request is answered with 504. 1 ms or longer.
    // Unset: none.
    std::optional<Duration> deadline = {};
    // The function runs as soon as the head has arrived, and reads the body while it arrives. Unset: false.
    std::optional<bool> streamed = {};
    // The function runs on the event loop, not in a fiber, and must not block (a call that would throws
    // BlockingOperationException). For answers that take microseconds: it saves the fiber. Not with `deadline` or
    // `streamed`: where a route asks for one of them, its group's `inLoop` does not count. Unset: false.
    std::optional<bool> inLoop = {};
};

namespace detail {
class ServiceDraft;
}

// A handle of one group, copyable. Valid as long as its Service; not thread-safe. Each call throws std::logic_error
// once the service serves.
class Routes {
  public:
    // Throws std::invalid_argument for a method, a pattern or options that are wrong, quoting them. Patterns are those
    // of RouteTable, behind the group's prefix; where several match, the most literal one from the left is taken, as
    // RouteTable says, whatever the order of the calls. A GET route answers HEAD, too; OPTIONS is answered by itself.
    Routes& add(Method method, std::string_view pattern, RouteFunction function, const RouteOptions& options = {});
    Routes& get(std::string_view pattern, RouteFunction function, const RouteOptions& options = {}) {
        return add(Method::get, pattern, std::move(function), options);
    }
    Routes& post(std::string_view pattern, RouteFunction function, const RouteOptions& options = {}) {
        return add(Method::post, pattern, std::move(function), options);
    }
    Routes& put(std::string_view pattern, RouteFunction function, const RouteOptions& options = {}) {
        return add(Method::put, pattern, std::move(function), options);
    }
    Routes& patch(std::string_view pattern, RouteFunction function, const RouteOptions& options = {}) {
        return add(Method::patch, pattern, std::move(function), options);
    }
    Routes& delete_(std::string_view pattern, RouteFunction function, const RouteOptions& options = {}) {
        return add(Method::delete_, pattern, std::move(function), options);
    }
    // For every registered method but CONNECT that the pattern has no route for when the service begins to serve; HEAD
    // goes with GET.
    Routes& any(std::string_view pattern, RouteFunction function, const RouteOptions& options = {});

    // Middleware of all routes of this group and of the groups in it, also of those that have been added before; the
    // first one is the outermost. Of the Service, also of the answers to requests without a route. An object with a
    // member onServed(const Served&) hooks that, too, or only that.
    template <class... F>
    Routes& use(F&&... middleware) {
        (useOne(std::forward<F>(middleware)), ...);
        return *this;
    }
    // Called after every answer to a request of this group; of the Service, to every request, also those that its codec
    // answers because they are malformed or too slow, of which it knows only the client and the status. Runs where the
    // answer was given: in the request's fiber, or on the loop, and must not block. Several carriers may call it at
    // once. An exception is logged.
    template <class F>
    Routes& onServed(F&& function) {
        static_assert(std::is_invocable_v<std::decay_t<F>&, const Served&>,
                      "Weft: onServed() takes a callable (const http::Served&)");
        addOnServed(std::forward<F>(function));
        return *this;
    }

    // Routes whose patterns begin with `prefix`: "/items", without a '/' at its end; "" is allowed. The pattern of a
    // route in it may be "", too.
    Routes group(std::string_view prefix, const RouteOptions& options = {});

  protected:
    Routes(std::shared_ptr<detail::ServiceDraft> draft, std::size_t group) noexcept
        : draft_(std::move(draft)), group_(group) {}
    const std::shared_ptr<detail::ServiceDraft>& draft() const noexcept { return draft_; }

  private:
    template <class F>
    void useOne(F&& given) {
        using Given = std::decay_t<F>;
        constexpr bool hooks = requires(Given & object, const Served& served) {
            object.onServed(served);
        };
        if constexpr (!hooks) {
            addMiddleware(Middleware(std::forward<F>(given)));
        } else {
            auto object = std::make_shared<Given>(std::forward<F>(given));
            addOnServed([object](const Served& served) { object->onServed(served); });
            if constexpr (std::is_invocable_v<Given&, Call&, Next>)
                addMiddleware(Middleware([object](Call& call, Next next) { return (*object)(call, next); }));
        }
    }
    void addMiddleware(Middleware middleware);
    void addOnServed(UniqueFunction<void(const Served&)> function);

    std::shared_ptr<detail::ServiceDraft> draft_;
    std::size_t group_;
};

}  // namespace weft::http
