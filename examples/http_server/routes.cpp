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
        return weft::http::error(Status::badGateway, error.what());
    }
}

// The answer to the request that is being delivered.
void plaintext(Context& ctx, FullRequest) {
    ctx.writeAndFlush(weft::http::ok(Buffer::wrapStatic(hello)));
}

void fiber(Context& ctx, FullRequest request) {
    ctx.spawn(
        [responder = request.responder()]() mutable { responder.send(weft::http::ok(Buffer::wrapStatic(hello))); });
}

void sleep(Context& ctx, FullRequest request) {
    const auto time = sleepTime(request.query("ms"));
    if (!time) {
        ctx.writeAndFlush(weft::http::error(Status::badRequest, "ms must be a whole number from 0 to 60000"));
        return;
    }
    ctx.spawn([time = *time, responder = request.responder()]() mutable {
        weft::ErrorCode cut;
        weft::thisFiber::sleepFor(time, cut);
        if (cut) return responder.send(weft::http::error(Status::serviceUnavailable, "the server is shutting down"));
        responder.send(weft::http::ok("slept " + std::to_string(time.count()) + " ms\n"));
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
    ctx.spawn([site, responder = request.responder()]() mutable { responder.send(fetchFruits(*site->backend)); });
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
        .get("/sleep", sleep)
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
