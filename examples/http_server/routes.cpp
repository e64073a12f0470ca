#include "routes.hpp"

#include <charconv>
#include <chrono>
#include <sstream>
#include <string>
#include <utility>

#include "stats.hpp"

namespace examples {

using weft::Buffer;
using Context = weft::ChannelHandlerContext;
using weft::http::FullRequest;
using weft::http::Response;
using weft::http::Status;

namespace {

constexpr std::string_view hello = "Hello, World!";
constexpr unsigned longestSleepMs = 60'000;

std::optional<std::chrono::milliseconds> sleepTime(std::optional<std::string_view> text) {
    unsigned value = 0;
    if (!text || text->empty()) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size() || value > longestSleepMs) return std::nullopt;
    return std::chrono::milliseconds(value);
}

Response fetchFruits(const weft::SocketAddress& backend) {
    try {
        return weft::http::ok(weft::http::get(backend, "/fruits"), "application/json");
    } catch (const weft::http::ClientError& error) {
        if (error.code() == weft::operationAborted()) throw;
        return weft::http::error(Status::badGateway, error.what());
    }
}

// Calls make() under the deadline of a request: every wait in it ends when the time has passed, also those of fibers
// that it starts in a TaskScope.
template <class Make>
Response inTime(const Site& site, Make make) {
    try {
        return site.requestTimeout ? weft::timeout(*site.requestTimeout, make) : make();
    } catch (const weft::SystemError& error) {
        if (error.code() == weft::timedOut()) {
            return weft::http::error(Status::gatewayTimeout,
                                     "no answer within " + std::to_string(site.requestTimeout->count()) + " ms");
        }
        if (error.code() != weft::operationAborted()) throw;
        return weft::http::error(Status::serviceUnavailable, "the server is shutting down");
    }
}

// Answers a request from a fiber, with what make() returns.
template <class Make>
void answerFromFiber(const std::shared_ptr<const Site>& site, Context& ctx, const FullRequest& request,
                     const char* name, Make make) {
    ctx.spawn([site, responder = request.responder(),
               make = std::move(make)]() mutable { responder.send(inTime(*site, make)); },
              {.name = name});
}

// The answer to the request that is being delivered.
void plaintext(Context& ctx, FullRequest) {
    ctx.writeAndFlush(weft::http::ok(Buffer::wrapStatic(hello)));
}

void fiber(Context& ctx, FullRequest request) {
    ctx.spawn(
        [responder = request.responder()]() mutable { responder.send(weft::http::ok(Buffer::wrapStatic(hello))); });
}

void sleep(const std::shared_ptr<const Site>& site, Context& ctx, const FullRequest& request) {
    const auto time = sleepTime(request.query("ms"));
    if (!time) {
        ctx.writeAndFlush(weft::http::error(Status::badRequest, "ms must be a whole number from 0 to 60000"));
        return;
    }
    answerFromFiber(site, ctx, request, "sleep", [time = *time] {
        weft::thisFiber::sleepFor(time);
        return weft::http::ok("slept " + std::to_string(time.count()) + " ms\n");
    });
}

void echo(Context& ctx, FullRequest request) {
    const auto type = request.header("Content-Type").value_or("application/octet-stream");
    ctx.writeAndFlush(weft::http::ok(request.takeBody(), type));
}

void fruits(const std::shared_ptr<const Site>& site, Context& ctx, const FullRequest& request) {
    if (!site->backend) {
        ctx.writeAndFlush(weft::http::error(Status::badGateway, "no backend: start http_server with --backend"));
        return;
    }
    answerFromFiber(site, ctx, request, "fruits", [site] { return fetchFruits(*site->backend); });
}

// Keeps its carrier busy while it formats the events, about 100 bytes each.
void trace(const Site& site, Context& ctx) {
    std::ostringstream text;
    weft::writeTrace(site.carriers, text);
    ctx.writeAndFlush(weft::http::ok(std::move(text).str(), "application/json"));
}

// As JSON for `?json`, otherwise as text. From a fiber, because the carriers answer between two tasks.
void fibers(const std::shared_ptr<const Site>& site, Context& ctx, const FullRequest& request) {
    ctx.spawn([site, json = request.query("json").has_value(), responder = request.responder()]() mutable {
        const weft::FiberDump dump = site->carriers.fibers();
        std::ostringstream text;
        json ? dump.writeJson(text) : dump.writeText(text);
        responder.send(weft::http::ok(std::move(text).str(), json ? "application/json" : "text/plain"));
    });
}

}  // namespace

std::shared_ptr<const weft::http::RouteTable> makeRoutes(const std::shared_ptr<const Site>& site) {
    auto routes = std::make_shared<weft::http::RouteTable>();
    routes->get("/plaintext", plaintext)
        .get("/fiber", fiber)
        .get("/sleep", [site](Context& ctx, FullRequest request) { sleep(site, ctx, request); })
        .post("/echo", echo)
        .get("/fruits", [site](Context& ctx, FullRequest request) { fruits(site, ctx, request); })
        .get("/stats",
             [site](Context& ctx, FullRequest) {
                 ctx.writeAndFlush(weft::http::ok(statsJson(site->carriers), "application/json"));
             })
        .get("/fibers", [site](Context& ctx, FullRequest request) { fibers(site, ctx, request); })
        .get("/trace", [site](Context& ctx, FullRequest) { trace(*site, ctx); });
    return routes;
}

void CloseOnError::exceptionCaught(Context& ctx, std::exception_ptr cause) {
    weft::log(weft::LogLevel::debug, "http_server: " + weft::describe(cause));
    ctx.close();
}

}  // namespace examples
