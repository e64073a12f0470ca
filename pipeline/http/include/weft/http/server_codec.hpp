// ServerCodec: the server side of an HTTP/1.1 connection. Decodes Request, Content and LastContent; encodes Response;
// sends responses in the order of the requests. This class handles the connection; detail::RequestReader decodes,
// detail::ResponseWriter encodes (docs/adr/0022-server-codec-in-two-halves.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <weft/http/detail/connection_timeouts.hpp>
#include <weft/http/detail/request_reader.hpp>
#include <weft/http/detail/response_writer.hpp>
#include <weft/http/detail/server_connection.hpp>
#include <weft/http/limits.hpp>
#include <weft/http/protocol_switched.hpp>
#include <weft/http/request.hpp>
#include <weft/http/response.hpp>
#include <weft/http/server_timeouts.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/scheduler/scheduled_task.hpp>

namespace weft::http {

namespace detail {
struct SwitchDue {};  // user event from decideProtocol(): switch the protocol now
}  // namespace detail

// What the codec assumes if a client ends its output (FIN) before it has received all its responses. On the wire, a
// client that has gone looks like one that has shut down its output and still reads (docs/adr/0013-end-of-input.md).
enum class InputEnd : std::uint8_t {
    // The client has gone. Responses that have been given are sent, then the channel is closed: fibers that handlers
    // spawned through its contexts are cancelled, handlers get channelInactive, later responses fail.
    cancel,
    // The client still reads. The codec waits for the response to every complete request, then closes the channel. If
    // the client has gone nevertheless, a write that fails or ServerTimeouts::stall ends the connection; a fiber that
    // neither writes nor returns keeps it open.
    answer,
};

struct ServerCodecOptions {
    Limits limits = {};
    std::size_t maxInFlight = 16;  // unanswered requests per connection, 1 to 1024; at the limit reading stops
    std::string serverName = {};   // the value of the Server header; empty: none
    ServerTimeouts timeouts = {};
    // The end of input is detected only while the codec reads: not at maxInFlight, nor while a body or a response waits
    // for room.
    InputEnd inputEnd = InputEnd::cancel;
};

// The first handler of a server connection. Inbound, it decodes Buffers to Request, Content and LastContent (or
// BodyCut). Outbound, it encodes Response, Content and LastContent to Buffers, treats a Buffer as a piece of a body,
// and passes anything else on. Tickets match responses to requests (see Response, Content).
// A message that cannot belong to a response, such as a Buffer outside of a body, is refused: its promise fails or,
// without a promise, a rate-limited warning is logged. A request that no handler takes is answered with 404, one that a
// handler drops without an answer with 500, and a warning names the handler. A malformed request is answered with its
// status after the responses before it; then the connection is closed, and no later byte is parsed as a request.
// While the channel is not writable, the codec decodes nothing and withholds read(). After a request that asks for
// another protocol (Upgrade, CONNECT), it decodes nothing until the response decides the protocol. A final response to
// a request whose client still waits for 100 Continue closes the connection.
// Responses whose turn has come are sent before the connection ends, unless an error or an explicit close() ends it. A
// codec that is removed writes those responses, fails the ones that wait for their turn, and passes on the bytes that
// it has not decoded.
// At DrainStarted the codec waits for the responses to the requests that it has read, sends the last one with
// `Connection: close`, then closes. An idle connection closes after at least one more poll of its loop, about 250 ms
// later at most; requests that have arrived by then are answered first.
class ServerCodec final : public ChannelDuplexHandler, private detail::ConnectionOwner {
  public:
    using InboundIn = Messages<Buffer>;
    using InboundOut = Messages<Request, Content, LastContent, BodyCut, Buffer>;

    // The default options, one object for all codecs.
    ServerCodec();
    // Throws std::invalid_argument for options out of range.
    explicit ServerCodec(ServerCodecOptions options);
    // As above, for options that the codecs of a server share, so that a connection keeps no copy of its own.
    // `options` must not be null.
    explicit ServerCodec(std::shared_ptr<const ServerCodecOptions> options);

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;
    // A reset or another I/O error of the connection (SystemError) is expected: the codec logs it at debug level and
    // does not pass it on; the channel closes.
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override;
    void read(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;
    void flush(ChannelHandlerContext& ctx) override;
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override;

  private:
    using Input = detail::RequestReader::Input;

    // What the reader and the writer need of their owner.
    void responseAdvanced() override;
    void closeAfterResponse() override;
    void decideProtocol() override;
    void expectNoMore(Ticket ticket, bool streamed) noexcept override { reader_.expectNoMore(ticket, streamed); }
    bool hasFurtherInput() const noexcept override { return reader_.expects() == Input::head && reader_.hasInput(); }
    void requestDropped(const weft::detail::AnswerLedger::Drop& drop) override { reader_.noteDropped(drop); }

    // Messages and reads (server_codec.cpp).
    void writeSlow(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise);
    void readOn(ChannelHandlerContext& ctx);
    void readOnIfManual();
    void resumeReading();

    // The end of the connection (server_codec_end.cpp).
    void onInputEnded();
    void endOfRequests();
    bool clientIsGone() const noexcept;
    void onOutputEnded();
    void beginDrain();
    void closeWhenAnswered();
    void closeNow();
    bool outputPending() const noexcept;
    void checkTimeouts();

    // Another protocol (server_codec_switch.cpp).
    void switchProtocol();
    void passInputOn();
    void restoreHalfClosure();

    // Every request uses the connection, the writer and the reader, each of which begins with what every request uses.
    detail::ServerConnection connection_;
    detail::ResponseWriter writer_;
    const std::shared_ptr<const ServerCodecOptions> options_;
    detail::RequestReader reader_;
    detail::ConnectionTimeouts timeouts_;
    std::unique_ptr<ScheduledTask> linger_;  // closes the connection after its output has ended; null: it has not
};

}  // namespace weft::http
