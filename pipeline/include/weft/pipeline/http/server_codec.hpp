// ServerCodec: HTTP/1.1 on a connection, server side: bytes to Request/Content/LastContent, Response to bytes, answers
// in the order of the requests (D14a).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/http/body_decoder.hpp>
#include <weft/pipeline/http/head_cache.hpp>
#include <weft/pipeline/http/limits.hpp>
#include <weft/pipeline/http/patience.hpp>
#include <weft/pipeline/http/protocol_switched.hpp>
#include <weft/pipeline/http/request.hpp>
#include <weft/pipeline/http/request_head_parser.hpp>
#include <weft/pipeline/http/response_slots.hpp>
#include <weft/pipeline/http/server_timeouts.hpp>
#include <weft/pipeline/http/turn_output.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http {

namespace detail {
struct SwitchDue {};  // user event: the time to switch the protocol has come
}  // namespace detail

// What it means that a client ends its output (FIN) before it has all its answers. Nothing on the wire tells a client
// that has gone from one that has shut down its output and still reads (docs/adr/0013-end-of-input.md).
enum class InputEnd : std::uint8_t {
    // The client has gone. What has been answered is sent, then the channel is closed: fibers that handlers spawned
    // through its contexts are cancelled, handlers get channelInactive, later answers fail.
    cancel,
    // The client still reads. Every complete request is answered, then the channel is closed. A client that has gone is
    // noticed when a write is refused, at ServerTimeouts::stall, or never by a fiber that neither writes nor ends.
    answer,
};

struct ServerCodecOptions {
    Limits limits = {};
    std::size_t maxInFlight = 16;  // unanswered requests of a connection, 1 to 1024; at the limit it stops reading
    std::string serverName = {};   // the value of the Server header; empty: none
    ServerTimeouts timeouts = {};
    // Noticed while the codec reads: not at maxInFlight, nor while a body or an answer waits for room.
    InputEnd inputEnd = InputEnd::cancel;
};

// User event: the server is going away. The codec answers what it has begun with `Connection: close`, then closes; an
// idle connection ends when its loop has polled once more, and what has come by then is answered first.
struct DrainStarted {};

// The first handler of a server connection. Inbound: Buffer in; Request, Content, LastContent out. Outbound: Response,
// Content, LastContent in, and Buffers, which are pieces of a body; Buffer out; anything else passes. Answers are
// matched to requests by tickets (see Response, Content). What cannot be an answer, a Buffer outside of a body among
// it, is refused: the promise fails, or a warning is logged, limited in rate. A request that no handler takes is
// answered with 404, one that a handler drops without an answer with 500, and a warning names the handler. A malformed
// request is answered with its status and the connection is closed after the answers before it; nothing behind it is
// read as a request. While the channel is not writable nothing is decoded and read() waits. Every end but an error or
// somebody's close() lets out what was answered. Nothing behind a request that asks for another protocol (Upgrade,
// CONNECT) is decoded before its answer says which. A final answer to a request whose client still waits for 100
// Continue closes the connection. A codec that is removed lets out what was answered and passes on the bytes that it
// has not decoded.
class ServerCodec final : public ChannelDuplexHandler, private FlushPointListener {
  public:
    using InboundIn = Messages<Buffer>;
    using InboundOut = Messages<Request, Content, LastContent, BodyCut, Buffer>;

    // Throws std::invalid_argument for options out of range.
    explicit ServerCodec(ServerCodecOptions options = {});

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
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
    static constexpr std::size_t copiedBody = 1024;  // bodies up to this size are copied behind their head
    // With so much output there is room for a known head and a copied body.
    static constexpr std::size_t easyOutput = TurnOutput::largeBlock - HeadCache::longestHead - copiedBody;

    enum class Input : std::uint8_t {
        head,
        body,
        undecided,  // behind a request that asks for another protocol and is not answered
        switched,   // from here on nothing is decoded
        ended,
    };

    // What is not everyday. One look tells that there is nothing of it.
    struct Special {
        bool busy = true;           // an answer is being said (see Saying), or ctx_ is null
        bool asksSwitch = false;    // the last request read asks for another protocol; until the next is begun
        bool owesContinue = false;  // the client waits for 100, or a final answer, before it sends the body
        bool blocked = false;       // what the channel last said: it is not writable
        bool crowded = false;       // earlyBytes_ is above its mark
        bool paused = false;        // at maxInFlight, or for one of these two, or undecided: input_ waits
        bool draining = false;      // no further request is read, but for those of the last look
        bool closing = false;       // the last response has been encoded: later ones fail

        bool any() const noexcept { return std::bit_cast<std::uint64_t>(*this) != 0; }
    };

    // While one is alive, what is said about any request is kept: a handler in front of this one may answer inside a
    // write of ours, or a listener of a promise, and must not get between two parts of an answer. Nor does a slot leave
    // meanwhile, unless all do.
    class Saying {
      public:
        explicit Saying(ServerCodec& codec) noexcept : codec_(codec) { codec_.special_.busy = true; }
        ~Saying() { codec_.special_.busy = codec_.ctx_ == nullptr; }
        Saying(const Saying&) = delete;
        Saying& operator=(const Saying&) = delete;

      private:
        ServerCodec& codec_;
    };

    // The connection (server_codec.cpp).
    void onInputEnded();
    void endOfRequests();
    bool clientHasGone() const noexcept;
    void onOutputEnded();
    void beginDrain();
    void closeWhenAnswered();
    void closeNow();
    void closeAfterResponse();
    bool outputPending() const noexcept;
    void dropSlots(const char* why);
    void lookAtClock();
    void giveUp(detail::Impatience why);

    // Another protocol (server_codec_switch.cpp).
    void decideProtocol();
    void beginSwitch();
    void switchProtocol();
    void passInputOn();
    void restoreHalfClosure();

    // Requests (server_codec_requests.cpp).
    void decode();
    bool decodeHead();
    void deliverHead();
    void expectBehind(const detail::RequestData& data);
    bool decodeBody();
    void endRequest();
    void refuse(Ticket ticket, const Refusal& refusal);
    void cutBody(const Refusal& refusal);
    void deliverBody(Message&& message);
    void afterDelivery(Ticket ticket);
    void noteDropped(Ticket ticket, std::unique_ptr<std::string>&& untakenAfter);
    void settleDropped(Ticket ticket, ResponseSlot& slot, const ChannelHandlerContext* taker);
    void warnOfDropped(Ticket ticket, const ResponseSlot& slot, const ChannelHandlerContext* taker);
    void awaitRest();
    bool mayGoOn();
    void pause() noexcept;
    bool mayDecode();
    void readOn(ChannelHandlerContext& ctx);
    void readOnIfManual();
    void resumeReading();

    // Responses (server_codec_responses.cpp).
    bool answerEasily(Response& response);
    void writeCarefully(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise);
    void accept(Message&& message, ChannelPromise&& promise);
    void acceptBytes(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise);
    Ticket ticketFor(const Message& message) noexcept;
    Ticket streamBeingWritten() noexcept;
    Ticket onlyOpenStream() noexcept;
    void refuseLate(const Message& message, Ticket ticket, const ChannelPromise& promise);
    bool isOvertaken(const Message& message, Ticket ticket) noexcept;
    void refuseMessage(const ChannelPromise& promise, const char* why, LogLevel level = LogLevel::warning);
    void loseFrom(Ticket ticket) noexcept { firstLost_ = std::min(firstLost_, ticket); }
    void settleContinue(Response& response) noexcept;
    void expectNoMore(Ticket ticket, bool streamed) noexcept;
    void keepEarly(ResponseSlot& slot, Message&& message, ChannelPromise&& promise);
    bool isTunnelled(const Message& message, Ticket ticket) const noexcept;
    void countEarly(std::size_t less, std::size_t more) noexcept;
    void drainFront();
    void emitEarly();
    // About the oldest request, inside a Saying.
    void emit(Message& message, ChannelPromise&& promise);
    void emitNow(Message& message, ChannelPromise&& promise);
    void cutShort(const ChannelPromise& promise);
    static bool mayKnowHead(const ResponseSlot& slot, const Response& response);
    void emitSmall(std::string_view head, std::string_view body, bool leaving = false);
    bool emitKnownHead(Response& response, ChannelPromise&& promise);
    void emitHead(Response& response, ChannelPromise&& promise);
    void finishHead(Response& response, const EncodedHead& encoded, std::uint64_t length, ChannelPromise&& promise);
    // For the Date header. A listener may have removed this codec in the middle of an answer.
    std::time_t second() noexcept { return heads_->second(loop_ != nullptr ? loop_->flushPoints() : 0); }
    HeaderView serverHeader(bool informational) const noexcept;
    // The answer to the front request is the last one: nothing more is expected, or at the last look nothing is there.
    bool lastOfDrain() const noexcept {
        return special_.draining && slots_.size() == 1 && (expects_ != Input::head || input_.empty());
    }
    void failHead(ChannelPromise&& promise, EncodeError why);

    // Streamed bodies (server_codec_content.cpp).
    void emitContent(Buffer&& data, ChannelPromise&& promise);
    void emitEnd(const HeaderList* trailers, ChannelPromise&& promise);
    EncodeError emitLastChunk(const HeaderList& trailers);
    void resetUnlessWhole();
    void abortBody();

    // Output (server_codec_output.cpp).
    void emitBytes(Buffer&& data, ChannelPromise&& promise);
    void appendSmall(std::string_view bytes);
    char* reserve(std::size_t bytes, bool leaving = false);
    char* reserveAnew(std::size_t bytes, bool leaving);
    // As reserve(), in the caller. What is in the shared block must leave it at the flush point, flushed or not.
    [[gnu::always_inline]] char* reserveHere(std::size_t bytes, bool leaving) {
        const bool first = output_.empty();
        char* const room = output_.room(bytes, leaving);
        if (room == nullptr) [[unlikely]]
            return reserveAnew(bytes, leaving);
        if (first && loop_ != nullptr) loop_->requestFlushPoint(*this);
        return room;
    }
    // Without a listener the bytes wait for company until the flush point.
    void finishWrite(ChannelPromise&& promise) {
        if (!promise.isVoid()) [[unlikely]]
            passOut(std::move(promise));
    }
    void passOut(ChannelPromise&& promise);
    void flushOut();
    void loseOutput(const ChannelPromise& promise);
    void onFlushPoint() noexcept override;
    void passOnAtFlushPoint() noexcept;

    // What every request touches comes first and together: between two requests of a connection its lines leave the
    // first-level cache, so fewer of them is faster.
    ChannelHandlerContext* ctx_ = nullptr;
    EventLoop* loop_ = nullptr;  // of ctx_
    HeadCache* heads_ = nullptr;
    const std::string* serverName_ = nullptr;  // options_.serverName, as heads_ knows it
    detail::RequestDataPointer next_;          // what the parser fills in; null between two requests
    Buffer input_;                             // bytes not yet decoded
    TurnOutput output_;                        // encoded, not yet written to the pipeline
    ResponseSlots slots_;
    Special special_;
    const std::uint32_t maxInFlight_;
    Input expects_ = Input::head;
    bool lastKeepAlive_ = true;  // of the last request read
    bool decoding_ = false;
    bool readWanted_ = false;  // a read() that was held back while paused
    bool reading_ = true;      // a read() has gone out for the next bytes
    bool fired_ = false;       // a message, since the last read()
    bool dropped_ = false;     // a request was dropped, perhaps inside its delivery: the end of the delivery checks
    bool flushWanted_ = false;
    bool looking_ = false;          // the last look: see LastLook
    Ticket delivering_ = noTicket;  // the request whose messages are being fired
    RequestHeadParser parser_;
    detail::Patience patience_;

    bool inputShutdown_ = false;
    bool outputShutdown_ = false;
    bool hadHalfClosure_ = false;
    BodyDecoder body_;
    Ticket bodyTicket_ = noTicket;               // the request whose body is being read
    std::unique_ptr<std::string> untakenAfter_;  // the handler that passed the newest untaken request on; null: none
    Ticket switching_ = noTicket;                // the request whose answer says that the protocol changes behind it
    Ticket firstLost_ = ~noTicket;               // from it on, an error or the end came before the application's answer
    std::size_t earlyBytes_ = 0;                 // held by answers that wait for their turn
    std::optional<int> lingerAfterBody_;  // SO_LINGER to give back when a body that the close ends is in the kernel
    ScheduledTask linger_;
    const ServerCodecOptions options_;
};

}  // namespace weft::http
