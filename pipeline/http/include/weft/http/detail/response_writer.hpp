// ResponseWriter: the writing half of a server codec. Owned by the codec; knows neither the input nor the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/http/detail/head_cache.hpp>
#include <weft/http/detail/response_slots.hpp>
#include <weft/http/detail/server_connection.hpp>
#include <weft/http/request.hpp>
#include <weft/http/response.hpp>
#include <weft/http/response_encoder.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/detail/least.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http::detail {

// Encodes Response, Content and LastContent in the order of the requests, into the channel's output. Handlers that see
// the bytes first are called inside these functions, as are the listeners of promises that fail; they may close the
// connection or remove the codec. Context: the channel's loop.
class ResponseWriter final {
  public:
    explicit ResponseWriter(ServerConnection& connection) noexcept : connection_(connection) {}

    // The codec has been added to a pipeline. `serverName`: the value of the Server header; empty: none.
    void begin(ChannelHandlerContext& ctx, std::string_view serverName);

    // ---- messages ----

    // Writes the most common response: small and complete, to the oldest request, with a head like that of the response
    // before it. False: another kind of response; nothing has been done. Defined in src/http/common_response.hpp.
    inline bool tryAnswerCommon(Response& response);
    // Response, Content or LastContent: encodes it if its request is the oldest one, otherwise queues it with its
    // request. A message that belongs to no request is refused.
    void accept(Message&& message, ChannelPromise&& promise);
    // A Buffer is a piece of a body, from a handler that does not know HTTP (ChunkedWriteHandler). After a response
    // that grants another protocol, it belongs to that protocol.
    void acceptBytes(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise);
    // The request whose response switches the protocol; noTicket if none does.
    Ticket switching() const noexcept { return switching_; }
    // From this request on, an error or the end of the connection comes before the response.
    void loseFrom(Ticket ticket) noexcept { firstLost_ = weft::detail::least(firstLost_, ticket); }
    // Fails the messages that wait for their turn, and forgets all requests.
    void dropAll(const char* why);

    // The flush after the most common responses. False: nothing has been done. Defined in src/http/common_response.hpp.
    inline bool tryFlushCommon(ChannelHandlerContext& ctx) noexcept;
    // Inside one of our writes it takes effect after that.
    void flush(ChannelHandlerContext& ctx);
    // The SO_LINGER to restore once the last response is in the kernel, if it had to be changed. In the middle of a
    // body that the close delimits there is none: the close cuts the body, so it must stay a reset.
    std::optional<int> takeLinger() noexcept;

  private:
    static constexpr std::size_t copiedBody = ChannelOutput::joinLimit;  // bodies up to this size follow their head

    // While a guard is alive, responses to any request are queued. A handler before the codec, or the listener of a
    // promise, may answer a request from inside one of our writes. No slot is removed meanwhile, unless all are.
    class ReentrancyGuard {
      public:
        explicit ReentrancyGuard(ServerConnection& connection) noexcept : connection_(connection) {
            connection_.slowPath.busy = true;
        }
        ~ReentrancyGuard() { connection_.slowPath.busy = connection_.ctx == nullptr; }
        ReentrancyGuard(const ReentrancyGuard&) = delete;
        ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

      private:
        ServerConnection& connection_;
    };

    // Order (response_writer.cpp).
    static bool isInterim(const Response& response) noexcept {
        return codeOf(response.status) < 200 && response.status != Status::switchingProtocols;
    }
    void settleContinue(Response& response) noexcept;
    void keepEarly(ResponseSlot& slot, Message&& message, ChannelPromise&& promise);
    void countEarly(std::size_t less, std::size_t more) noexcept;
    void emitReady();
    void emitEarly();
    // Call these for the oldest request, inside a ReentrancyGuard.
    void emit(Message& message, ChannelPromise&& promise);
    void emitNow(Message& message, ChannelPromise&& promise);
    void cutShort(const ChannelPromise& promise);

    // Tickets (response_writer_tickets.cpp).
    Ticket ticketFor(const Message& message) noexcept;
    Ticket streamBeingWritten() noexcept;
    void refuseLate(const Message& message, Ticket ticket, const ChannelPromise& promise);
    bool isOvertaken(const Message& message, Ticket ticket) noexcept;
    void refuseMessage(const ChannelPromise& promise, const char* why, LogLevel level = LogLevel::warning);

    // Heads (response_writer_heads.cpp, common_response.hpp).
    static inline bool mayKnowHead(const ResponseSlot& slot, const Response& response);
    static inline void emitSmall(ChannelOutput& out, std::string_view head, std::string_view body);
    inline void answeredFront();
    bool tryAnswerLike(const Response& response);
    inline bool emitLike(ChannelOutput& out, HeadCache::Model& model, const Response& response, std::string_view body,
                         std::size_t most);
    bool emitKnownHead(Response& response, ChannelPromise&& promise);
    void emitHead(Response& response, ChannelPromise&& promise);
    void finishHead(Response& response, const EncodedHead& encoded, std::uint64_t length, ChannelPromise&& promise);
    void failHead(ChannelPromise&& promise, EncodeError why);
    bool lastOfDrain() const noexcept;
    // The time for the Date header. The loop is null if a listener has removed the codec in the middle of a response.
    std::time_t second() noexcept {
        return heads_->second(connection_.loop != nullptr ? connection_.loop->flushPoints() : 0);
    }

    // Streamed bodies (response_writer_bodies.cpp).
    void emitContent(Buffer&& data, ChannelPromise&& promise);
    void emitEnd(const HeaderList* trailers, ChannelPromise&& promise);
    void resetUnlessWhole();
    void abortBody(const ChannelPromise& promise, const char* why);

    // Output. The bytes of a message end with finishWrite().
    inline ChannelOutput& output();
    void finishWrite(ChannelPromise&& promise) { connection_.ctx->finishOutput(std::move(promise)); }
    void loseOutput(const ChannelPromise& promise);

    // Members that every request uses come first.
    ServerConnection& connection_;
    HeadCache* heads_ = nullptr;
    const std::string* serverName_ = nullptr;  // heads_'s key

    bool flushDue_ = false;
    Ticket switching_ = noTicket;
    Ticket firstLost_ = ~noTicket;
    std::size_t earlyBytes_ = 0;          // memory held by responses that wait for their turn
    std::optional<int> lingerAfterBody_;  // SO_LINGER to restore once a body delimited by the close is in the kernel
};

}  // namespace weft::http::detail
