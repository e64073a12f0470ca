// ClientCodec: HTTP/1.1 on a connection, client side: ClientRequest to bytes, bytes to ReceivedResponse, Content,
// LastContent; responses are matched to requests by their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/http/client_request.hpp>
#include <weft/pipeline/http/limits.hpp>
#include <weft/pipeline/http/protocol_switched.hpp>
#include <weft/pipeline/http/received_response.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/pipeline/http/request_encoder.hpp>
#include <weft/pipeline/http/response_decoder.hpp>

namespace weft::http {

struct ClientCodecOptions {
    Limits limits = {};
    std::string host =
        {};  // the Host of requests that bring none; empty: they must (but for CONNECT, which has a target)
};

// In exceptionCaught: what came is no answer to what was asked; the connection is being closed. Requests without a
// whole response by then get none.
class BadResponseException : public std::runtime_error {
  public:
    explicit BadResponseException(const Refusal& refusal)
        : std::runtime_error("bad HTTP response: " + std::string(refusal.reason)), refusal_(refusal) {}
    // Its status is what a gateway may answer.
    const Refusal& refusal() const noexcept { return refusal_; }

  private:
    Refusal refusal_;
};

// The first handler of a client connection. Outbound: ClientRequest, Content, LastContent in; Buffer out; anything else
// passes. Inbound: Buffer in; ReceivedResponse, Content, LastContent, InterimResponse out, each with the ticket of its
// request. Requests may be pipelined; a promise fails for what cannot be sent (a bad header, a request inside another's
// body, behind one that closes or may switch the protocol), and nothing of it is. A malformed response, bytes that
// nobody asked for, or an end with requests outstanding: exceptionCaught(BadResponseException), then close. A body that
// only the connection's end completes is complete after an orderly end, never after an error or a close from here.
// After 101, or a 2xx to CONNECT: ProtocolSwitched behind the response; from then on everything passes as it is,
// beginning with the bytes behind that response. A codec that is removed passes on what it has not decoded. (H-7)
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

    // Requests whose response is not complete.
    std::size_t outstanding() const noexcept { return asked_.size(); }

  private:
    enum class Input : std::uint8_t { responses, switched, ended };
    enum class Output : std::uint8_t { open, body, lastSent };  // lastSent: no further request may follow
    struct Asked {
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
    void switchProtocol();
    void passInputOn();
    void endInput();
    void fail(const Refusal& refusal);

    // Requests (client_codec.cpp).
    void writeRequest(ChannelHandlerContext& ctx, ClientRequest&& request, ChannelPromise&& promise);
    Buffer encode(const ClientRequest& request, RequestError& error, bool& upgrade) const;
    void noteRequest(const ClientRequest& request, bool upgrade);
    void writeContent(ChannelHandlerContext& ctx, Buffer&& data, ChannelPromise&& promise);
    void writeEnd(ChannelHandlerContext& ctx, const HeaderList* trailers, ChannelPromise&& promise);

    const ClientCodecOptions options_;
    ChannelHandlerContext* ctx_ = nullptr;

    ResponseDecoder decoder_;
    Buffer input_;  // bytes not yet decoded
    Input expects_ = Input::responses;
    bool decoding_ = false;
    bool fired_ = false;         // a message, in this read cycle
    bool started_ = false;       // the decoder is at the response to the front request
    bool lastResponse_ = false;  // the connection ends behind a response that has come
    bool disorderly_ = false;    // an error, or our own close: the end says nothing about a body

    weft::detail::Ring<Asked> asked_;
    Ticket first_ = 1;  // of the front request
    Output output_ = Output::open;
    bool closesBehind_ = false;    // the request whose body is being written is the last
    bool chunked_ = false;         // ... and how it goes
    std::uint64_t remaining_ = 0;  // bytes of a body of known length still to be written
};

}  // namespace weft::http
