// Exchange: one request and its response on a connection of a client's pool; the implementation of http::Client and
// ClientExchange. It keeps the first failure with a text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/framework/resolver.hpp>
#include <weft/http/client_request.hpp>
#include <weft/transports/stream_security.hpp>
#include "client_pool.hpp"
#include "client_response_parser.hpp"

namespace weft::http::detail {

// "GET https://127.0.0.1:9000/fruits", for errors.
std::string nameOf(const Origin& origin, const ClientRequest& request);

// Context: fibers of one carrier; one may send while another receives. `origin`, `request` and `response` must
// outlive it.
class Exchange {
  public:
    // What RequestOptions::timeout limits.
    enum class Timeout : bool { ofTheWhole, ofEachWait };

    // `response` must be new. Throws std::invalid_argument for a request that cannot be sent. With Timeout::ofEachWait
    // there is no limit on the size of the body.
    Exchange(const std::shared_ptr<ClientPool>& pool, const Origin& origin, const ClientRequest& request,
             const RequestOptions& options, Timeout timeout, ClientResponse& response);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    // Gets a connection and sends the request, or the head of a streamed one. A separate fiber sends a large body,
    // because a server may answer before it has read all of it. Sends nothing if the fiber has been cancelled.
    void begin();
    // Waits for more of the response. Repeats the request where that is allowed.
    void receive();
    // Call it before each wait of a ClientExchange: with Timeout::ofEachWait the timeout begins anew. After a wait that
    // ended at its deadline, allows another one.
    void beginWait() noexcept;

    void send(Buffer piece, ErrorCode& error);
    void end(const HeaderList& trailers, ErrorCode& error);

    ClientResponseParser& parser() noexcept { return *parser_; }
    // Valid as far as parser() says.
    const ClientResponse& response() const noexcept { return response_; }
    bool finished() const noexcept { return finished_; }
    const ErrorCode& error() const noexcept { return error_; }
    ClientError failure() const { return failure(error_, failedStep_); }
    ClientError failure(const ErrorCode& error, std::string_view what) const;

    // For the whole exchange; waits that have begun keep theirs.
    void setDeadline(Deadline deadline) noexcept;
    void cancel() noexcept;

  private:
    bool failIfCancelled();
    void encode();
    void open();
    void connect(const Resolver::Addresses& addresses);
    void use(TcpStream stream);
    std::shared_ptr<const StreamSecurity> security();
    Resolver::Addresses resolve();
    void sendRequest();
    void sendPromptly(std::string_view head, std::string_view body);
    void sendBodyInFiber();
    void write(std::initializer_list<std::string_view> parts, ErrorCode& error);
    bool mayRepeat() const noexcept;
    void repeat();
    void finish();
    void fail(const ErrorCode& error, std::string what);

    const std::shared_ptr<ClientPool> pool_;
    const Origin& origin_;
    const ClientRequest& request_;
    ClientResponse& response_;
    const Method method_;
    const std::size_t maxBodyBytes_;
    const bool repeatable_;  // idempotent, and its body is complete
    const Duration timeout_;
    const Timeout timeoutScope_;
    Deadline overallDeadline_;  // for the whole exchange
    Deadline waitDeadline_;     // for the present wait
    const std::string host_;    // of the options
    Buffer head_;               // encoded; empty once it has been sent
    bool keepAlive_ = true;     // as encoded
    ClientPool::Lease lease_;
    std::shared_ptr<const StreamSecurity> security_;  // of an https origin, once a connection is opened
    std::optional<ClientResponseParser> parser_;
    ErrorCode error_;
    std::string failedStep_;       // the step that failed, or what was wrong with the response
    ErrorCode sendError_;          // nothing more is sent; the response may still be available
    std::uint64_t remaining_ = 0;  // bytes still to come in a body of known length
    bool requestEnded_ = false;    // the request was sent, or its body passed to a separate fiber
    bool clean_ = true;            // no bytes after the response
    bool reused_ = false;          // the connection has carried an earlier exchange
    bool repeated_ = false;
    bool finished_ = false;
    bool cancelled_ = false;
};

struct ExchangeParts {
    Origin ownOrigin;
    ClientRequest ownRequest;
    ClientResponse ownResponse;
};

// An exchange with what it refers to.
class OwningExchange final : private ExchangeParts, public Exchange {
  public:
    OwningExchange(const std::shared_ptr<ClientPool>& pool, const Origin& origin, ClientRequest request,
                   const RequestOptions& options)
        : ExchangeParts{origin, std::move(request), {}},
          Exchange(pool, ownOrigin, ownRequest, options, Timeout::ofEachWait, ownResponse) {}
};

}  // namespace weft::http::detail
