// ClientCodec: the client side of an HTTP/1.1 connection. Encodes ClientRequest; decodes ReceivedResponse, Content and
// LastContent; matches responses to requests by their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <weft/http/client_request.hpp>
#include <weft/http/limits.hpp>
#include <weft/http/protocol_switched.hpp>
#include <weft/http/received_response.hpp>
#include <weft/http/request.hpp>
#include <weft/http/request_encoder.hpp>
#include <weft/http/response_decoder.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft::http {

struct ClientCodecOptions {
    Limits limits = {};
    // The Host of requests without one. If empty, every request needs its own, except CONNECT, which uses its target.
    std::string host = {};
};

// Fired as exceptionCaught() when the server's bytes, or the end of the connection, do not answer the outstanding
// requests. The connection is then closed, and incomplete responses stay incomplete.
class BadResponseException : public std::runtime_error {
  public:
    explicit BadResponseException(const Refusal& refusal)
        : std::runtime_error("bad HTTP response: " + std::string(refusal.reason)), refusal_(refusal) {}
    // The status is the one that a gateway may send to its own client.
    const Refusal& refusal() const noexcept { return refusal_; }

  private:
    Refusal refusal_;
};

// The first handler of a client connection. Outbound, it encodes ClientRequest, Content and LastContent to Buffers and
// passes anything else on. Inbound, it decodes Buffers to ReceivedResponse, Content, LastContent and InterimResponse,
// each with the ticket of its request.
// Requests may be pipelined. A message that the codec has taken cannot be cancelled (W-2). One that was cancelled
// before is dropped, as if it had not been written. A message that cannot be sent (a bad header, a request inside
// another's body, or one after a request that closes the connection or may switch the protocol) fails its promise, and
// no part of it is sent; bad trailers fail theirs, but the body still ends. A body of another length than its
// Content-Length closes the connection. On a malformed response, bytes that no request asked for, or an end of the
// connection while requests are outstanding, the codec fires exceptionCaught(BadResponseException) and closes. A body
// that is delimited only by the end of the connection is complete after an orderly end, never after an error or a local
// close. After a 101, or a 2xx to CONNECT, the codec fires ProtocolSwitched after the response. From then on it passes
// everything on unchanged, beginning with the bytes after that response. A codec that is removed passes on the bytes
// that it has not decoded (H-7: they belong to the next protocol's handler).
class ClientCodec final : public ChannelDuplexHandler {
  public:
    using InboundIn = Messages<Buffer>;
    using InboundOut = Messages<ReceivedResponse, InterimResponse, Content, LastContent, Buffer>;

    // Throws std::invalid_argument for options out of range.
    explicit ClientCodec(ClientCodecOptions options = {});

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override;

    // Number of requests whose response is not complete.
    std::size_t outstanding() const noexcept { return requests_.size(); }

  private:
    enum class Input : std::uint8_t { responses, switched, ended };
    enum class Output : std::uint8_t { open, body, lastSent };  // lastSent: no further request may follow
    struct SentRequest {
        Method method = Method::get;
        bool mayUpgrade = false;
        bool maySwitch() const noexcept { return mayUpgrade || method == Method::connect; }
    };

    // Responses (client_codec_responses.cpp).
    void decode();
    bool step();
    void startNext() noexcept;
    void deliver(ResponseEvent event, std::size_t consumed);
    void endResponse();
    void passInputOn();
    void endInput();
    void fail(const Refusal& refusal);

    // Requests (client_codec.cpp).
    void writeRequest(ChannelHandlerContext& ctx, ClientRequest&& request, ChannelPromise&& promise);
    void writeContent(ChannelHandlerContext& ctx, Buffer&& data, ChannelPromise&& promise);
    void writeEnd(ChannelHandlerContext& ctx, const HeaderList* trailers, ChannelPromise&& promise);

    const ClientCodecOptions options_;
    ChannelHandlerContext* ctx_ = nullptr;

    ReceivedHead head_;  // of the response that decoder_ works on
    ResponseDecoder decoder_;
    Buffer input_;  // bytes not yet decoded
    Input expects_ = Input::responses;
    bool decoding_ = false;
    bool fired_ = false;         // a message was fired in this read cycle
    bool started_ = false;       // decoder_ works on the response to the front request
    bool lastResponse_ = false;  // a received response is the last one of the connection
    bool disorderly_ = false;    // after an error or a local close: the end completes no body

    weft::detail::Ring<SentRequest> requests_;
    Ticket first_ = 1;  // the ticket of the front request
    Output output_ = Output::open;
    bool closesBehind_ = false;    // the request being written is the last one
    bool chunked_ = false;         // ... and its body is chunked
    std::uint64_t remaining_ = 0;  // bytes still to be written of a body of known length
};

}  // namespace weft::http
