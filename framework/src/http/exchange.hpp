// Exchange: one request and its response on a connection of a client's pool; what http::Client and ClientExchange are
// made of. It keeps the first failure, and a text for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/framework/http/client_pool.hpp>
#include <weft/framework/http/client_response_parser.hpp>
#include <weft/framework/resolver.hpp>
#include <weft/pipeline/http/client_request.hpp>

namespace weft::http::detail {

// Context: fibers of one carrier; one may send while another receives.
class Exchange {
  public:
    // Throws std::invalid_argument for a request that cannot be sent. The options' host must outlive the constructor.
    Exchange(std::shared_ptr<ClientPool> pool, Origin origin, ClientRequest request, const RequestOptions& options,
             std::size_t maxBodyBytes);
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    // Gets a connection and sends the request, of a streamed one the head. A large body is sent by a fiber of its own
    // meanwhile: a server may answer before it has read all.
    void begin();
    // Waits for more of the response. Sends the request again where that is allowed.
    void receive();
    void receiveHead();
    // After a wait that its deadline has ended: another may begin.
    void forgiveTimeout() noexcept;

    void send(Buffer piece, ErrorCode& error);
    void end(const HeaderList& trailers, ErrorCode& error);

    ClientResponseParser& parser() noexcept { return *parser_; }
    bool finished() const noexcept { return finished_; }
    const ErrorCode& error() const noexcept { return error_; }
    ClientError failure() const;
    ClientError failure(const ErrorCode& error, std::string_view what) const;
    const Origin& origin() const noexcept { return origin_; }
    const ClientRequest& request() const noexcept { return request_; }

    void setDeadline(Deadline deadline) noexcept;
    void cancel() noexcept;

  private:
    void encode(std::string_view host);
    void open();
    void connect(const SocketAddress& address);
    Resolver::Addresses resolve();
    void sendRequest();
    void sendPromptly(std::string_view head, std::string_view body);
    void sendAside();
    void write(std::initializer_list<std::string_view> parts, ErrorCode& error);
    bool mayRepeat() const noexcept;
    void repeat();
    void finish();
    bool requestSent() const noexcept;
    void fail(const ErrorCode& error, std::string what);

    const std::shared_ptr<ClientPool> pool_;
    const Origin origin_;
    const ClientRequest request_;
    const std::size_t maxBodyBytes_;
    const bool repeatable_;  // idempotent, and all of it is here
    Deadline deadline_;
    Buffer head_;  // encoded
    ClientPool::Lease lease_;
    std::optional<ClientResponseParser> parser_;
    ErrorCode error_;
    std::string what_;             // the step that failed, or what was wrong with the response
    ErrorCode sendError_;          // the answer may be there all the same
    std::uint64_t remaining_ = 0;  // bytes that a body of known length still owes
    bool ended_ = false;           // the request is sent, as far as this object does it
    bool clean_ = true;            // nothing came behind the response
    bool reused_ = false;          // the connection has carried an exchange before
    bool repeated_ = false;
    bool finished_ = false;
    bool cancelled_ = false;
};

}  // namespace weft::http::detail
