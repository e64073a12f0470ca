// RequestReader: the reading half of a server codec. Owned by the codec; knows the writer, since a request that is
// malformed or dropped is answered by it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <weft/http/detail/body_decoder.hpp>
#include <weft/http/detail/connection_timeouts.hpp>
#include <weft/http/detail/request_head_parser.hpp>
#include <weft/http/detail/response_writer.hpp>
#include <weft/http/detail/server_connection.hpp>
#include <weft/http/limits.hpp>
#include <weft/http/refusal.hpp>
#include <weft/http/request.hpp>
#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/message.hpp>

namespace weft::http::detail {

// Decodes the input of a connection and fires Request, Content, LastContent and BodyCut. Handlers may answer, close or
// remove the codec while it does. Context: the channel's loop.
class RequestReader {
  public:
    // What the next byte of the input belongs to.
    enum class Input : std::uint8_t {
        head,
        body,
        undecided,  // after a request that asks for another protocol, until its response
        switched,   // nothing is decoded any more
        ended,
    };

    // `maxInFlight`: unanswered requests at which decoding pauses. Throws std::invalid_argument for limits out of
    // range.
    RequestReader(ServerConnection& connection, ResponseWriter& writer, ConnectionTimeouts& timeouts,
                  const Limits& limits, std::uint32_t maxInFlight);

    // The codec has been added to a pipeline.
    void begin(ChannelHandlerContext& ctx);

    Input expects() const noexcept { return expects_; }
    // The next protocol takes over, or HTTP goes on after all.
    void expect(Input next) noexcept { expects_ = next; }
    // No further request; a body that is being read is still read.
    void expectNoMore() noexcept { expects_ = expects_ == Input::body ? Input::body : Input::ended; }
    void expectNoMore(Ticket ticket, bool streamed) noexcept;
    // Nothing is decoded any more, and the undecoded bytes are dropped.
    void end() noexcept;

    // ---- decoding ----

    // Takes a Buffer that has arrived. Call decode() next, unless decoding is paused.
    void add(Message& message) {
        if (input_.empty()) [[likely]] {
            input_ = message.take<Buffer>();
        } else {
            input_.append(message.get<Buffer>().view());
        }
    }
    // Decodes as far as possible. A nested call returns at once; the outer one goes on.
    void decode();
    bool hasInput() const noexcept { return !input_.empty(); }
    Buffer takeInput() noexcept { return std::exchange(input_, Buffer()); }
    // From here on the codec withholds read(), so every read() must reach it.
    void pause() noexcept;
    // Goes on if there is room again. True if decoding was paused, and is not any more.
    bool resume();

    // ---- read cycles ----

    void beginCycle() noexcept {
        reading_ = true;
        fired_ = false;
    }
    // True if no message was fired since beginCycle().
    bool endCycle() noexcept {
        reading_ = false;
        return !std::exchange(fired_, false);
    }
    // A read() for the next bytes has been passed on.
    bool reading() const noexcept { return reading_; }
    void withholdRead() noexcept { readWithheld_ = true; }
    bool takeWithheldRead() noexcept { return std::exchange(readWithheld_, false); }

    // ---- requests that are not answered by a handler ----

    // Answers the head that has begun to arrive, and ends the connection.
    void refuseHead(const Refusal& refusal);
    // Answers the request whose body is being read, unless a handler has; then tells the handler, whose own response
    // would be too late.
    void cutBody(const Refusal& refusal);
    // See AnswerLedger. While the request is being delivered, a response may still follow.
    void noteDropped(const weft::detail::AnswerLedger::Drop& drop);
    // The request, or a part of it, has been delivered. It may have been dropped.
    void afterDelivery(Ticket ticket);

  private:
    // Decoding (request_reader.cpp).
    void decodeMessages();
    void fail() noexcept;
    bool decodeHead(ServerConnection& connection);
    void deliverHead(ServerConnection& connection, RequestDataPointer&& data);
    void expectAfter(const RequestData& data);
    bool decodeBody();
    void deliverBody(Message&& message);
    void endRequest();
    void awaitMoreInput();
    bool mayGoOn();
    bool mayDecode();

    // Requests without an answer (request_reader_refusals.cpp).
    void refuse(Ticket ticket, const Refusal& refusal);
    void answer(Ticket ticket, Response&& response, std::string_view reason);
    void settleDropped(Ticket ticket, ResponseSlot& slot, const ChannelHandlerContext* taker);
    void warnOfDropped(Ticket ticket, const ResponseSlot& slot, const ChannelHandlerContext* taker) noexcept;

    // Members that every request uses come first.
    ServerConnection& connection_;
    RequestDataPointer next_;  // the request being parsed; null between two requests
    Buffer input_;             // bytes not yet decoded
    const std::uint32_t maxInFlight_;
    Input expects_ = Input::head;
    bool lastKeepAlive_ = true;  // of the last request read
    bool decoding_ = false;
    bool readWithheld_ = false;  // a read() came while decoding was paused
    bool reading_ = true;
    bool fired_ = false;    // a message was fired in this read cycle
    bool dropped_ = false;  // a request was dropped, maybe inside its delivery; checked after the delivery
    ConnectionTimeouts& timeouts_;
    RequestHeadParser parser_;

    ResponseWriter& writer_;
    std::unique_ptr<BodyDecoder> body_;          // of connection_.bodyTicket; null: no body is being read
    std::unique_ptr<std::string> untakenAfter_;  // the handler that passed the newest untaken request on; null: none
    const ChannelHandlerContext* droppedBy_ = nullptr;  // during a delivery: the handler that had its request
};

}  // namespace weft::http::detail
