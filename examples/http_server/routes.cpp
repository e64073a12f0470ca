#include "routes.hpp"

#include <charconv>
#include <chrono>
#include <string>
#include <utility>

#include "stats.hpp"

namespace examples {

using weft::Buffer;
using weft::http::Method;
using weft::http::Response;
using weft::http::Status;

namespace {

constexpr std::string_view hello = "Hello, World!";
constexpr unsigned longestSleepMs = 60'000;

// Answers the request that is being delivered.
void answer(weft::ChannelHandlerContext& ctx, Response&& response) {
    ctx.writeAndFlush(std::move(response));
}

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

Response methodNotAllowed(std::string_view allowed) {
    Response refusal = weft::http::error(Status::methodNotAllowed);
    refusal.headers.add("Allow", allowed);
    return refusal;
}

}  // namespace

struct Routes::Route {
    std::string_view path;
    Method method;
    void (Routes::*call)(Context&, Request&);

    // What serves GET serves HEAD: the codec leaves the body out.
    bool allows(Method asked) const noexcept { return asked == method || (asked == Method::head && method == Method::get); }
    std::string_view allowed() const noexcept { return method == Method::get ? "GET, HEAD" : nameOf(method); }
};

const Routes::Route Routes::table[] = {
    {"/plaintext", Method::get, &Routes::plaintext}, {"/fiber", Method::get, &Routes::fiber},
    {"/sleep", Method::get, &Routes::sleep},         {"/fruits", Method::get, &Routes::fruits},
    {"/echo", Method::post, &Routes::echo},          {"/stats", Method::get, &Routes::stats},
};

void Routes::channelRead0(Context& ctx, Request request) {
    if (!isKnown(request.method())) return answer(ctx, weft::http::error(Status::notImplemented));
    const std::string_view path = request.path();
    for (const Route& route : table) {
        if (route.path != path) continue;
        if (!route.allows(request.method())) return answer(ctx, methodNotAllowed(route.allowed()));
        return (this->*route.call)(ctx, request);
    }
    answer(ctx, weft::http::error(Status::notFound));
}

// A peer that resets its connection is no news.
void Routes::exceptionCaught(Context& ctx, std::exception_ptr cause) {
    weft::log(weft::LogLevel::debug, "http_server: " + weft::describe(cause));
    ctx.close();
}

void Routes::plaintext(Context& ctx, Request&) {
    answer(ctx, weft::http::ok(Buffer::wrapStatic(hello)));
}

void Routes::fiber(Context& ctx, Request& request) {
    ctx.spawn([responder = request.responder()]() mutable { responder.send(weft::http::ok(Buffer::wrapStatic(hello))); });
}

void Routes::sleep(Context& ctx, Request& request) {
    const auto time = sleepTime(request.query("ms"));
    if (!time) {
        return answer(ctx, weft::http::error(Status::badRequest, "ms must be a whole number from 0 to 60000"));
    }
    ctx.spawn([time = *time, responder = request.responder()]() mutable {
        weft::ErrorCode cut;
        weft::thisFiber::sleepFor(time, cut);
        if (cut) return responder.send(weft::http::error(Status::serviceUnavailable, "the server is shutting down"));
        responder.send(weft::http::ok("slept " + std::to_string(time.count()) + " ms\n"));
    });
}

void Routes::fruits(Context& ctx, Request& request) {
    if (!site_->backend) {
        return answer(ctx, weft::http::error(Status::badGateway, "no backend: start http_server with --backend"));
    }
    ctx.spawn([site = site_, responder = request.responder()]() mutable { responder.send(fetchFruits(*site->backend)); });
}

void Routes::echo(Context& ctx, Request& request) {
    const auto type = request.header("Content-Type").value_or("application/octet-stream");
    answer(ctx, weft::http::ok(request.takeBody(), type));
}

void Routes::stats(Context& ctx, Request&) {
    answer(ctx, weft::http::ok(statsJson(site_->carriers), "application/json"));
}

}  // namespace examples
