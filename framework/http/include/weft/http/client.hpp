// http::Client: HTTP/1.1 requests, plain or over TLS, that block only their fiber. Keep-alive connections are pooled
// per carrier.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <weft/http/client_error.hpp>
#include <weft/http/client_exchange.hpp>
#include <weft/http/client_options.hpp>
#include <weft/http/client_request.hpp>
#include <weft/http/client_response.hpp>
#include <weft/http/origin.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

// A copyable handle; copies share their connections. Each carrier has its own connections, which no other carrier uses.
// They are closed after being idle for ClientOptions::idleTime, and with their carrier.
//
// A request uses an idle connection, else a new one. At the connection limits it waits in FIFO order until its deadline
// (ETIMEDOUT). Before the client reuses an idle connection, it checks with one recv() whether the server has closed it
// or sent anything on it. If so, the client closes it, so that unsolicited bytes are never taken for a response. When a
// reused connection ends before a byte of the response has arrived, an idempotent request (GET, HEAD, PUT, DELETE,
// OPTIONS, TRACE) that is not streamed is retried once, on a fresh connection. Any status counts as a response.
//
// https: the server must prove that it is the host of the URL, by a certificate that ClientOptions::tls trusts. An end
// without TLS's own is an error wherever it could be an attacker's.
//
// Context: fibers of carriers with sockets (std::logic_error elsewhere). Blocks the fiber. Throws
// BlockingOperationException where nothing may block, and std::invalid_argument for a request that cannot be sent (bad
// target, header or host; CONNECT and Upgrade, which need a ClientCodec). Failures: throws ClientError, or with `error`
// stores its code and returns an empty response.
class Client {
  public:
    // Throws std::invalid_argument for options out of range.
    explicit Client(const ClientOptions& options = {});

    // Returns the whole response. `request` has its whole body and is not streamed. A large body is sent while the
    // response is awaited.
    ClientResponse request(const Origin& server, ClientRequest request, const RequestOptions& options = {}) const {
        return perform(server, request, options, nullptr);
    }
    ClientResponse request(const Origin& server, ClientRequest request, const RequestOptions& options,
                           ErrorCode& error) const {
        return perform(server, request, options, &error);
    }

    // `url` is "http://host[:port]/path?query" or "https://..."; see Url.
    ClientResponse get(std::string_view url, const RequestOptions& options = {}) const;
    ClientResponse get(std::string_view url, const RequestOptions& options, ErrorCode& error) const;
    ClientResponse head(std::string_view url, const RequestOptions& options = {}) const;
    ClientResponse head(std::string_view url, const RequestOptions& options, ErrorCode& error) const;
    ClientResponse post(std::string_view url, Buffer body, std::string_view contentType,
                        const RequestOptions& options = {}) const;
    ClientResponse post(std::string_view url, Buffer body, std::string_view contentType, const RequestOptions& options,
                        ErrorCode& error) const;

    // For reading the response, and with ClientRequest::streamed also sending the request, in pieces. Returns when the
    // request, or the head of a streamed one, has been sent. RequestOptions::maxBodyBytes does not apply.
    ClientExchange begin(const Origin& server, ClientRequest request, const RequestOptions& options = {}) const;

    // Figures of the calling carrier.
    ClientStats stats() const;

    // The client behind http::get(), with default options. Lives for the whole process.
    static const Client& shared();

  private:
    // `error` may be null: then it throws.
    ClientResponse perform(const Origin& server, const ClientRequest& request, const RequestOptions& options,
                           ErrorCode* error) const;
    ClientResponse perform(Method method, std::string_view url, const RequestOptions& options, ErrorCode* error) const;
    ClientResponse postTo(std::string_view url, Buffer body, std::string_view contentType,
                          const RequestOptions& options, ErrorCode* error) const;

    std::shared_ptr<const ClientOptions> options_;
};

// GET of `target` ("/fruits?ripe=1") from `backend`, through Client::shared().request(). Any status is returned; the
// conversion to Buffer throws unless it is 2xx.
inline ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options = {}) {
    return Client::shared().request(backend, {Method::get, std::string(target)}, options);
}
inline ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options,
                          ErrorCode& error) {
    return Client::shared().request(backend, {Method::get, std::string(target)}, options, error);
}

}  // namespace weft::http
