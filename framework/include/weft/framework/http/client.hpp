// http::Client: HTTP/1.1 requests that block their fiber only; connections are kept alive, each carrier's apart.
#pragma once

#include <memory>
#include <string_view>

#include <weft/framework/http/client_error.hpp>
#include <weft/framework/http/client_exchange.hpp>
#include <weft/framework/http/client_options.hpp>
#include <weft/framework/http/client_response.hpp>
#include <weft/framework/http/origin.hpp>
#include <weft/pipeline/http/client_request.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

// A copyable handle; copies share their connections. Every carrier that asks has connections of its own, which none
// other uses. They are closed when they have been idle for ClientOptions::idleTime, and with their carrier.
//
// A request goes out on an idle connection, else on a new one; at the limits it waits behind those who came before it,
// within its deadline (ETIMEDOUT). Before an idle connection is used again the kernel is asked (one recv()) whether the
// server has ended it or has sent anything on it: then it is closed, so that bytes that no request asked for are never
// taken for an answer. When a reused connection ends before a byte of the answer has come, a request that is idempotent
// (GET, HEAD, PUT, DELETE, OPTIONS, TRACE) and not streamed is sent once more, on a fresh one. Any status is an answer.
//
// Context: fibers of carriers with sockets (std::logic_error elsewhere). Blocks the fiber; throws
// BlockingOperationException where nothing may block; std::invalid_argument for a request that cannot be sent (bad
// target, header or host; CONNECT and Upgrade, which are for a ClientCodec). Failures: ClientError, or with `error` its
// code and an empty response.
class Client {
  public:
    // Throws std::invalid_argument for options out of range.
    explicit Client(const ClientOptions& options = {});

    // The whole response. `request` with its whole body: not streamed. A large body is sent while the answer is
    // awaited.
    ClientResponse request(const Origin& server, ClientRequest request, const RequestOptions& options = {}) const;
    ClientResponse request(const Origin& server, ClientRequest request, const RequestOptions& options,
                           ErrorCode& error) const;

    // "http://host[:port]/path?query", see Url.
    ClientResponse get(std::string_view url, const RequestOptions& options = {}) const;
    ClientResponse head(std::string_view url, const RequestOptions& options = {}) const;
    ClientResponse post(std::string_view url, Buffer body, std::string_view contentType,
                        const RequestOptions& options = {}) const;

    // The response piece by piece, and with ClientRequest::streamed the request, too. Returns when the request, or the
    // head of a streamed one, has been sent. RequestOptions::maxBodyBytes does not count.
    ClientExchange begin(const Origin& server, ClientRequest request, const RequestOptions& options = {}) const;

    // Of the calling carrier.
    ClientStats stats() const;

    // The client of http::get(), with default options; lives for the whole process.
    static const Client& shared();

  private:
    static ClientResponse taken(detail::Exchange& exchange);

    std::shared_ptr<const ClientOptions> options_;
};

// Asks `backend` for `target` ("/fruits?ripe=1"): Client::shared().request() with GET.
ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options = {});
ClientResponse get(const SocketAddress& backend, std::string_view target, const GetOptions& options, ErrorCode& error);

}  // namespace weft::http
