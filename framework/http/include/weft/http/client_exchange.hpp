// ClientExchange: a request and its response in pieces, on a connection of an http::Client.
#pragma once

#include <memory>
#include <optional>

#include <weft/http/client_error.hpp>
#include <weft/http/client_response.hpp>
#include <weft/http/header_list.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft::http {

namespace detail {
class OwningExchange;
}

// Made by Client::begin(). Move-only; belongs to its carrier. Bytes move only on demand: an unread body stays in the
// kernel, so its sender has to wait. Destroying an exchange before the response was read, or the request sent, to its
// end closes the connection; a finished exchange has already returned it to the pool.
// Context: fibers of its carrier, one sending and one receiving at a time; cancel() and the destructor also in the
// carrier's dispatch. Destroy it after every fiber has returned from its call. Blocks the fiber; throws
// BlockingOperationException where nothing may block. Failures: throws ClientError, or with `error` stores its code.
class ClientExchange {
  public:
    explicit ClientExchange(std::unique_ptr<detail::OwningExchange> exchange) noexcept;
    ClientExchange(ClientExchange&&) noexcept;
    ClientExchange& operator=(ClientExchange&&) noexcept;
    ~ClientExchange();

    // Sends the next piece of a streamed request's body; returns when the kernel has accepted it. After a failure, also
    // one by a deadline or a cancellation, the server may have a part of the piece: later calls of send() and end()
    // fail with the same error and write nothing, and the connection is not reused. A response may still be available,
    // because a server need not read what it refuses. Throws std::logic_error when the request is not streamed, has
    // ended, or would exceed its contentLength.
    void send(Buffer piece);
    void send(Buffer piece, ErrorCode& error);
    // Ends that body. Only a chunked body can have trailers; throws std::invalid_argument for a field that must not be
    // a trailer, and std::logic_error when the body is shorter than its contentLength.
    void end(const HeaderList& trailers = noTrailers());
    void end(const HeaderList& trailers, ErrorCode& error);

    // Waits for the head of the response and returns it; its body() is empty. Interim responses are skipped. Lifetime:
    // that of this exchange.
    const ClientResponse& response();
    const ClientResponse& response(ErrorCode& error);
    // Waits for the next piece of the response's body, which is not empty; nothing at the end.
    std::optional<Buffer> read();
    std::optional<Buffer> read(ErrorCode& error);
    // The trailer fields of a chunked body; after read() has returned nothing.
    HeaderList trailers() const;

    // Sets the deadline of the whole exchange for later waits, replacing that of its RequestOptions. Each wait ends by
    // RequestOptions::timeout, too. A read() or response() that ended by either (ETIMEDOUT) may be repeated.
    void setDeadline(Deadline deadline) noexcept;
    // Closes the connection; fibers waiting in calls get operation_aborted. A fiber that is still opening the
    // connection is not interrupted and returns by its deadline.
    void cancel() noexcept;

  private:
    std::unique_ptr<detail::OwningExchange> exchange_;
};

}  // namespace weft::http
