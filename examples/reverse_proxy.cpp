// A reverse proxy: one fiber per request calls the upstream and streams bodies in both directions. It reads from each
// side only as fast as the other side accepts bytes.
#include "support/program.hpp"
#include "support/tls.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace {

using weft::http::BodyReader;
using weft::http::BodyWriter;
using weft::http::ClientError;
using weft::http::ClientExchange;
using weft::http::ClientRequest;
using weft::http::ClientResponse;
using weft::http::HeaderList;
using weft::http::HeaderView;
using weft::http::Method;
using weft::http::Responder;
using weft::http::Response;
using weft::http::Status;
using weft::http::StreamedRequest;

// ---- headers that may pass a proxy (RFC 9110, section 7.6) ----

bool same(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::string_view trimmed(std::string_view text) {
    const std::size_t from = text.find_first_not_of(" \t");
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// Whether the list in a Connection header contains this header.
bool names(std::string_view list, std::string_view header) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (same(trimmed(list.substr(0, end)), header)) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

// True for headers that concern one connection, for headers that Connection lists, and for Content-Length and Expect,
// which each side sets itself.
template <class Head>
bool staysHere(const Head& head, std::string_view name) {
    constexpr std::string_view own[] = {"Connection",          "Keep-Alive", "Proxy-Connection",  "Proxy-Authenticate",
                                        "Proxy-Authorization", "TE",         "Transfer-Encoding", "Upgrade",
                                        "Content-Length",      "Expect"};
    if (std::any_of(std::begin(own), std::end(own), [&](std::string_view each) { return same(each, name); }))
        return true;
    for (std::size_t i = 0; i < head.headerCount(); ++i) {
        const HeaderView header = head.headerAt(i);
        if (same(header.name, "Connection") && names(header.value, name)) return true;
    }
    return false;
}

template <class Head>
void copyHeaders(const Head& from, HeaderList& to, bool withHost = true) {
    for (std::size_t i = 0; i < from.headerCount(); ++i) {
        const HeaderView header = from.headerAt(i);
        if (staysHere(from, header.name) || (!withHost && same(header.name, "Host"))) continue;
        to.add(header.name, header.value);
    }
    to.add("Via", from.version() == weft::http::Version::http10 ? "1.0 weft" : "1.1 weft");
}

// The upstream gets a path as its target; the host of an absolute target takes precedence over the Host header (RFC
// 9112, section 3.2.2).
ClientRequest requestFor(const StreamedRequest& request) {
    const auto& head = request.head();
    ClientRequest out;
    out.method = request.methodText();
    const std::string_view target = request.target();
    const bool absolute = head.targetForm == weft::http::TargetForm::absolute;
    if (absolute) {
        const std::size_t from = target.find("://") + 3;
        const std::size_t path = std::min(target.find_first_of("/?", from), target.size());
        out.headers.add("Host", target.substr(from, path - from));
        out.target = target.substr(path);
        if (!out.target.starts_with('/')) out.target.insert(0, "/");
    } else {
        out.target = target;
    }
    copyHeaders(request, out.headers, !absolute);
    out.streamed = request.hasBody();
    out.hasLength = head.bodyKind == weft::http::BodyKind::length;
    out.contentLength = out.hasLength && out.streamed ? head.contentLength : 0;
    return out;
}

// The length that the upstream announced, even if no body follows (HEAD).
std::optional<std::uint64_t> lengthOf(const ClientResponse& response) {
    if (response.head().bodyKind == weft::http::BodyKind::length) return response.head().contentLength;
    const auto text = response.header("Content-Length");
    if (!text || response.head().hasBody()) return std::nullopt;
    return std::stoull(std::string(*text));  // the client has validated it: digits, and not too many
}

Response headFor(const ClientResponse& response) {
    Response head(response.status());
    copyHeaders(response, head.headers);
    const auto length = lengthOf(response);
    head.hasLength = length.has_value();
    head.contentLength = length.value_or(0);
    return head;
}

// ---- one request ----

struct Upstream {
    weft::http::Origin origin;
    std::chrono::milliseconds timeout;  // for each wait for the upstream
    weft::http::Client client;
};

// The current request, shared by the fiber that answers and the one that uploads the body.
struct Forward {
    Forward(ClientExchange&& exchange, weft::Duration timeout)
        : exchange(std::move(exchange)), timeout(timeout), due(weft::deadlineAfter(timeout)) {}

    // Sends the body of the request as fast as the upstream accepts it.
    void upload(BodyReader body) {
        weft::ErrorCode error;
        while (auto piece = next(body, error)) {
            exchange.send(std::move(*piece), error);
            if (error) return;  // the response, if there is one, tells why
        }
        if (error) return exchange.cancel();  // the client broke off: the upstream must not see a complete body
        exchange.end(body.trailers(), error);
    }

    // The upstream has `timeout` from the last piece of the body that the client has sent. Time during which the client
    // still owes the next piece does not count.
    const ClientResponse& response() {
        for (;;) {
            const weft::Deadline limit = clientsTurn ? weft::never : due;  // of this wait
            try {
                const ClientResponse& head = exchange.response();
                answered = true;
                exchange.setDeadline(weft::never);
                return head;
            } catch (const ClientError& error) {
                const weft::TimePoint now = weft::Clock::current().now();
                const bool late = !clientsTurn && now >= due;
                const bool isLimit = error.code() == weft::timedOut() && now >= limit;  // not a connect's, for example
                if (late || !isLimit) throw;
            }
        }
    }

    std::optional<weft::Buffer> next(BodyReader& body, weft::ErrorCode& error) {
        setTurn(true);
        auto piece = body.read(error);
        due = weft::deadlineAfter(timeout);
        setTurn(false);
        return piece;
    }

    void setTurn(bool ofClient) {
        clientsTurn = ofClient;
        if (!answered) exchange.setDeadline(ofClient ? weft::never : due);  // for the next wait of either fiber
    }

    // Once the head has been sent, a failure can only be signalled by closing the connection early.
    void download(BodyWriter out) {
        while (auto piece = exchange.read()) out.send(std::move(*piece));
        out.end(exchange.trailers());
    }

    ClientExchange exchange;
    const weft::Duration timeout;
    weft::Deadline due;        // when the upstream is late, unless it is the client's turn
    bool clientsTurn = false;  // to send a piece of the request's body
    bool answered = false;
};

Response failure(const ClientError& error) {
    const bool late = error.code() == weft::timedOut();
    return weft::http::error(late ? Status::gatewayTimeout : Status::badGateway, error.what());
}

// ---- one connection ----

class Proxy final : public weft::SimpleInboundHandler<StreamedRequest> {
  public:
    explicit Proxy(std::shared_ptr<const Upstream> upstream) : upstream_(std::move(upstream)) {}

    // The client is gone: cancels its requests to the upstream.
    void channelInactive(weft::ChannelHandlerContext& ctx) override {
        for (Forward* forward : running_) forward->exchange.cancel();
        ctx.fireChannelInactive();
    }
    void exceptionCaught(weft::ChannelHandlerContext& ctx, std::exception_ptr) override { ctx.close(); }

  protected:
    void channelRead0(weft::ChannelHandlerContext& ctx, StreamedRequest request) override {
        Responder responder = request.responder();
        if (request.method() == Method::connect) {
            return responder.send(weft::http::error(Status::notImplemented, "this proxy does not support CONNECT"));
        }
        ctx.spawn([this, &ctx, request = std::move(request), responder = std::move(responder)]() mutable {
            serve(ctx, request, responder);
        });
    }

  private:
    // Keeps a request in the connection's list for as long as this object lives.
    class Running {
      public:
        Running(std::set<Forward*>& all, Forward& one) : all_(all), one_(one) { all_.insert(&one_); }
        ~Running() { all_.erase(&one_); }
        Running(const Running&) = delete;
        Running& operator=(const Running&) = delete;

      private:
        std::set<Forward*>& all_;
        Forward& one_;
    };

    void serve(weft::ChannelHandlerContext& ctx, StreamedRequest& request, Responder& responder) {
        try {
            forward(ctx, request, responder);
        } catch (const ClientError& error) {
            if (!responder.answered()) return responder.send(failure(error));
            weft::log(weft::LogLevel::debug, {"reverse_proxy: the response was cut short: ", error.what()});
        } catch (const std::invalid_argument& error) {  // a request that cannot be forwarded
            if (!responder.answered()) responder.send(weft::http::error(Status::badRequest, error.what()));
        } catch (const weft::SystemError& error) {  // the client is gone
            weft::log(weft::LogLevel::debug, {"reverse_proxy: ", error.what()});
        }
    }

    void forward(weft::ChannelHandlerContext& ctx, StreamedRequest& request, Responder& responder) {
        weft::http::RequestOptions options;
        options.timeout = upstream_->timeout;
        const auto forward = std::make_shared<Forward>(
            upstream_->client.begin(upstream_->origin, requestFor(request), options), options.timeout);
        if (ctx.channel().closed()) return;
        const Running running(running_, *forward);
        if (request.hasBody()) {
            ctx.spawn([forward, body = request.takeBody()]() mutable { forward->upload(std::move(body)); });
        }
        const ClientResponse& response = forward->response();
        forward->download(responder.begin(headFor(response)));
    }

    const std::shared_ptr<const Upstream> upstream_;
    std::set<Forward*> running_;
};

// "ADDR:PORT", "http://HOST[:PORT]" or "https://HOST[:PORT]".
weft::http::Origin originOf(const std::string& text) {
    if (text.find("://") == std::string::npos) return weft::SocketAddress::parse(text);
    const weft::http::Url url = weft::http::Url::parse(text);
    if (url.target != "/") throw std::invalid_argument("'" + text + "' has a path; accepted: scheme, host and port");
    return url.origin;
}

struct Flags {
    examples::ServerFlags server;
    examples::TlsFlags tls;
    std::optional<weft::http::Origin> upstream;
    std::string upstreamAuthorities;
    unsigned timeoutMs = 30'000;

    explicit Flags(CLI::App& app) : server(app, weft::SocketAddress("127.0.0.1", 8081)), tls(app) {
        examples::addParsed(app, "--upstream", upstream, "the upstream server; https: over TLS", originOf)
            ->required()
            ->type_name("ADDR:PORT|URL");
        app.add_option("--upstream-ca", upstreamAuthorities,
                       "file with the authorities that sign the upstream's certificate; default: the system's")
            ->type_name("PATH");
        app.add_option("--timeout-ms", timeoutMs,
                       "longest wait for the upstream server in milliseconds, 1 to 3600000; default 30000")
            ->check(CLI::Range(1u, 3'600'000u))
            ->type_name("N");
    }
};

int run(const CLI::App& app, const Flags& flags) {
    weft::EventLoopGroup group(flags.server.group);
    const std::chrono::milliseconds timeout(flags.timeoutMs);
    weft::http::ClientOptions options;
    options.connectTimeout = timeout;
    if (!flags.upstreamAuthorities.empty()) options.tls = examples::trusting(flags.upstreamAuthorities);
    const auto upstream =
        std::make_shared<const Upstream>(Upstream{*flags.upstream, timeout, weft::http::Client(options)});
    const auto fill = [upstream](weft::Channel& channel) {
        channel.pipeline().addLast<weft::http::ServerCodec>().addLast<weft::http::BodyStreamer>().addLast<Proxy>(
            upstream);
    };
    weft::ServerBootstrap server(group);
    server.childHandler(fill);
    examples::TlsPort tls(flags.tls, group, fill);
    return examples::serve(app, flags.server, group, server, tls);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Forwards HTTP requests to an upstream server, and its responses back.", "reverse_proxy");
    const Flags flags(app);
    return examples::runProgram(app, argc, argv, [&] { return run(app, flags); });
}
