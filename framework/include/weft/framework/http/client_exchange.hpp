// ClientExchange: a request and its response piece by piece, on a connection of an http::Client.
#pragma once

#include <memory>
#include <optional>

#include <weft/framework/http/client_error.hpp>
#include <weft/framework/http/client_response.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

namespace detail {
class Exchange;
}

// Made by Client::begin(). Move-only; belongs to its carrier. Bytes move only when a fiber asks for them: a body that
// is not read stays in the kernel, and its sender waits. An exchange that is destroyed before the response has been
// read to its end, or the request sent to its end, closes its connection; one that was finished gave it back already.
// Context: fibers of its carrier, one sending and one receiving at a time; cancel() and the destructor also its
// dispatch. Destroy it when every fiber has returned from its call. Blocks the fiber; throws BlockingOperationException
// where nothing may block. Failures: ClientError, or with `error` its code.
class ClientExchange {
  public:
    explicit ClientExchange(std::unique_ptr<detail::Exchange> exchange) noexcept;
    ClientExchange(ClientExchange&&) noexcept;
    ClientExchange& operator=(ClientExchange&&) noexcept;
    ~ClientExchange();

    // The next piece of a streamed request's body; returns when the kernel has taken it. After a failure the response
    // may be there all the same: a server need not read what it refuses. Throws std::logic_error when the request is
    // not streamed, has ended, or for more than its contentLength.
    void send(Buffer piece);
    void send(Buffer piece, ErrorCode& error);
    // The end of that body. Trailers go with a chunked one only; std::invalid_argument for what must not be a trailer.
    // Throws std::logic_error when bytes of its contentLength are missing.
    void end(const HeaderList& trailers = noTrailers());
    void end(const HeaderList& trailers, ErrorCode& error);

    // The head of the response, when it has come; its body() is empty. Interim responses are skipped. Lifetime: that of
    // this exchange.
    const ClientResponse& response();
    const ClientResponse& response(ErrorCode& error);
    // The next piece of the response's body, not empty; nothing at its end.
    std::optional<Buffer> read();
    std::optional<Buffer> read(ErrorCode& error);
    // The fields behind a chunked body; after read() has returned nothing.
    HeaderList trailers() const;

    // Ends every later wait of this exchange, in place of the deadline of its RequestOptions. For a long body, set it
    // anew before each wait. A read() or response() that it has ended (ETIMEDOUT) may be repeated.
    void setDeadline(Deadline deadline) noexcept;
    // Gives up: closes the connection; a fiber that waits in a call gets operation_aborted, but for one that still
    // opens the connection: that ends with its deadline.
    void cancel() noexcept;

  private:
    std::unique_ptr<detail::Exchange> exchange_;
};

}  // namespace weft::http
