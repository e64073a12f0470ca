#include <weft/http/client.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include "client_pool.hpp"

#include "exchange.hpp"

namespace weft::http {

namespace {

using detail::Exchange;

const std::shared_ptr<ClientPool>& poolHere(const std::shared_ptr<const ClientOptions>& client) {
    if (NonSuspendingScope::active()) throw BlockingOperationException("http::Client");
    Carrier* const home = thisFiber::carrier();
    if (home == nullptr) throw std::logic_error("http::Client called outside a fiber: spawn one and call it there");
    if (weft::detail::currentHome() != home) thisFiber::goHome();
    return home->local<ClientPools>().of(client);
}

void requirePositive(const char* name, std::size_t value) {
    if (value != 0) return;
    throw std::invalid_argument("ClientOptions::" + std::string(name) + " is 0; accepted: 1 or more");
}

void requireTime(const char* name, Duration value) {
    if (value > Duration::zero()) return;
    throw std::invalid_argument("ClientOptions::" + std::string(name) + " is " + std::to_string(value.count()) +
                                " ns; accepted: more than 0");
}

}  // namespace

void ClientOptions::validate() const {
    requirePositive("maxPerHost", maxPerHost);
    requirePositive("maxConnections", maxConnections);
    requireTime("idleTime", idleTime);
    requireTime("connectTimeout", connectTimeout);
    limits.validate();
}

Client::Client(const ClientOptions& options) : options_(std::make_shared<const ClientOptions>(options)) {
    options.validate();
}

const Client& Client::shared() {
    static const Client client;
    return client;
}

ClientResponse Client::perform(const Origin& server, const ClientRequest& request, const RequestOptions& options,
                               ErrorCode* error) const {
    if (request.streamed)
        throw std::invalid_argument("http::Client::request() called with a streamed request: use begin()");
    ClientResponse response;
    Exchange exchange(poolHere(options_), server, request, options, Exchange::Timeout::ofTheWhole, response);
    exchange.begin();
    while (!exchange.error() && !exchange.finished()) exchange.receive();
    if (error != nullptr) *error = exchange.error();
    if (exchange.error()) {
        if (error == nullptr) throw exchange.failure();
        response = {};
    }
    if (!response.succeeded()) {  // keeps what an exception about the response would say
        response.request_ = detail::nameOf(server, request);
    }
    return response;
}

ClientExchange Client::begin(const Origin& server, ClientRequest request, const RequestOptions& options) const {
    auto exchange = std::make_unique<detail::OwningExchange>(poolHere(options_), server, std::move(request), options);
    exchange->begin();
    if (exchange->error()) throw exchange->failure();
    return ClientExchange(std::move(exchange));
}

ClientResponse Client::perform(Method method, std::string_view url, const RequestOptions& options,
                               ErrorCode* error) const {
    const Url where = Url::parse(url);
    return perform(where.origin, {method, where.target}, options, error);
}

ClientResponse Client::get(std::string_view url, const RequestOptions& options) const {
    return perform(Method::get, url, options, nullptr);
}

ClientResponse Client::get(std::string_view url, const RequestOptions& options, ErrorCode& error) const {
    return perform(Method::get, url, options, &error);
}

ClientResponse Client::head(std::string_view url, const RequestOptions& options) const {
    return perform(Method::head, url, options, nullptr);
}

ClientResponse Client::head(std::string_view url, const RequestOptions& options, ErrorCode& error) const {
    return perform(Method::head, url, options, &error);
}

ClientResponse Client::postTo(std::string_view url, Buffer body, std::string_view contentType,
                              const RequestOptions& options, ErrorCode* error) const {
    const Url where = Url::parse(url);
    ClientRequest post(Method::post, where.target, std::move(body));
    if (!contentType.empty()) post.headers.add("Content-Type", contentType);
    return perform(where.origin, post, options, error);
}

ClientResponse Client::post(std::string_view url, Buffer body, std::string_view contentType,
                            const RequestOptions& options) const {
    return postTo(url, std::move(body), contentType, options, nullptr);
}

ClientResponse Client::post(std::string_view url, Buffer body, std::string_view contentType,
                            const RequestOptions& options, ErrorCode& error) const {
    return postTo(url, std::move(body), contentType, options, &error);
}

ClientStats Client::stats() const {
    return poolHere(options_)->statsNow();
}

ClientResponse::operator Buffer() && {
    if (succeeded()) return takeBody();
    throw ClientError(make_error_code(ClientFault::badStatus),
                      request_ + ": status " + std::to_string(codeOf(status())) + " " + std::string(reason()),
                      status());
}

}  // namespace weft::http
