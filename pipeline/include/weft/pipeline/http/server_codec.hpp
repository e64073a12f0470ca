// ServerCodec: HTTP/1.1 on a connection, server side: bytes to Request/Content/LastContent, Response to bytes, answers
// in the order of the requests (D14a).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/http/body_decoder.hpp>
#include <weft/pipeline/http/head_cache.hpp>
#include <weft/pipeline/http/limits.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/pipeline/http/request_head_parser.hpp>
#include <weft/pipeline/http/response_slots.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::http {

struct ServerCodecOptions {
    Limits limits = {};
    std::size_t maxInFlight = 16;  // unanswered requests of a connection, 1 to 1024; at the limit it stops reading
    std::string serverName = {};   // the value of the Server header; empty: none
};

// User event: the server is going away. The codec answers what it has begun with `Connection: close`, then closes; an
// idle connection is closed when its loop has polled once more, and what has come by then is answered first.
struct DrainStarted {};

// The first handler of a server connection. Inbound: Buffer in; Request, Content, LastContent out. Outbound: Response,
// Content, LastContent in; Buffer out; anything else passes. A malformed request is answered with its status and the
// connection is closed after the answers before it; nothing behind it is read as a request. While the channel is not
// writable nothing is decoded and read() waits. Every end but an error or somebody's close() lets out what was answered.
class ServerCodec final : public ChannelDuplexHandler, private FlushPointListener {
  public:
    // Throws std::invalid_argument for options out of range.
    explicit ServerCodec(ServerCodecOptions options = {});

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;
    // A reset or another I/O error of the connection is everyday: the channel closes, a debug line says why.
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override;
    void read(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;
    void flush(ChannelHandlerContext& ctx) override;
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override;

  private:
    enum class Input : std::uint8_t { head, body, ended };

    // The connection (server_codec.cpp).
    void onInputEnded();
    void endOfRequests();
    void onOutputEnded();
    void beginDrain();
    void closeWhenAnswered();
    void closeNow();
    void closeAfterResponse();
    bool outputPending() const noexcept;
    void dropSlots();

    // Requests (server_codec_requests.cpp).
    void decode();
    bool decodeHead();
    void deliverHead();
    bool decodeBody();
    void endRequest();
    void refuse(Ticket ticket, const Refusal& refusal);
    bool mayDecode();
    void resumeReading();

    // Responses (server_codec_responses.cpp).
    bool answerFront(Response& response, ChannelPromise& promise);
    void accept(Message&& message, ChannelPromise&& promise);
    void expectNoMore(Ticket ticket, bool streamed) noexcept;
    void drainFront();
    void emit(ResponseSlot& slot, Message& message, ChannelPromise&& promise);
    bool emitKnownHead(ResponseSlot& slot, Response& response, ChannelPromise&& promise);
    void emitHead(ResponseSlot& slot, Response& response, ChannelPromise&& promise);
    HeaderView serverHeader(bool interim) const noexcept;
    // The answer to the front request is the last one: nothing more is expected, or at the last look nothing is there.
    bool lastOfDrain() const noexcept {
        return draining_ && slots_.size() == 1 && (expects_ != Input::head || input_.empty());
    }
    void failHead(ResponseSlot& slot, ChannelPromise&& promise, EncodeError why);
    void emitContent(ResponseSlot& slot, Buffer&& data, ChannelPromise&& promise);
    void emitEnd(ResponseSlot& slot, ChannelPromise&& promise);
    void abortBody();
    void emitBytes(Buffer&& data, ChannelPromise&& promise);
    void appendSmall(std::string_view bytes);
    char* reserve(std::size_t bytes);
    void finishWrite(ChannelPromise&& promise);
    void passOut(ChannelPromise&& promise);
    void onFlushPoint() noexcept override;

    const ServerCodecOptions options_;
    ChannelHandlerContext* ctx_ = nullptr;
    HeadCache* heads_ = nullptr;
    const std::string* serverName_ = nullptr;  // options_.serverName, as heads_ knows it

    RequestHeadParser parser_;
    BodyDecoder body_;
    Buffer input_;  // bytes not yet decoded
    Input expects_ = Input::head;
    Ticket bodyTicket_ = 0;      // the request whose body is being read
    bool lastKeepAlive_ = true;  // of the last request read
    bool decoding_ = false;
    bool inputShutdown_ = false;
    bool outputShutdown_ = false;
    ScheduledTask linger_;
    bool blocked_ = false;     // what the channel last said: it is not writable
    bool paused_ = false;      // at maxInFlight, or the channel is not writable: input_ waits
    bool readWanted_ = false;  // a read() that was held back while paused

    ResponseSlots slots_;
    Buffer output_;  // encoded, not yet written to the pipeline
    bool flushWanted_ = false;
    bool draining_ = false;  // no further request is read, but for those of the last look
    bool looking_ = false;   // the last look: see LastLook
    bool closing_ = false;   // the last response has been encoded: later ones fail
};

}  // namespace weft::http
