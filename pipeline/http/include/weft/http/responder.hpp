// Responder: the right to answer one request. Responses are sent in the order of the requests, whatever the order in
// which they are given.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/http/header_list.hpp>
#include <weft/http/response.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_ref.hpp>

namespace weft::http {

class BodyWriter;

// Move-only. Context: any thread or fiber. On the channel's carrier a call enters the pipeline directly; elsewhere it
// is posted to the loop. Never blocks.
// If a responder is destroyed without an answer (in a fiber that threw, say), the codec answers with 500, after the
// rest of the request's body if one is still to come, and logs a warning; if the channel has closed, nothing happens.
// Lifetime: answering needs the channel's loop (see ChannelRef); destroying a responder does not.
class Responder {
  public:
    Responder() = default;
    Responder(ChannelRef channel, Ticket ticket) noexcept : channel_(std::move(channel)), ticket_(ticket) {}
    Responder(Responder&&) noexcept = default;
    Responder& operator=(Responder&& other) noexcept {
        abandon();
        channel_ = std::move(other.channel_);
        ticket_ = other.ticket_;
        return *this;
    }
    ~Responder() { abandon(); }

    // Answers the request and flushes at the loop's next flush point. If the channel is closed, the response is dropped
    // and the promise fails. From here on, `promise` cannot be cancelled; if it has been, the responder counts as
    // destroyed without an answer. Throws std::logic_error after an answer, and std::invalid_argument for an interim
    // status (below 200, except 101); in the latter case this responder can still answer.
    void send(Response response, ChannelPromise promise = {});
    // Answers with a head now and with a body piece by piece: chunked, or `contentLength` bytes if the head has
    // `hasLength`. Throws as send() does.
    BodyWriter begin(Response head);
    // Sends an interim response (100 Continue, 103 Early Hints) before the answer. Dropped for an HTTP/1.0 client.
    // Throws std::invalid_argument for any other status (101 is an answer), and std::logic_error after the answer.
    void sendInterim(Response response);

    bool answered() const noexcept { return !channel_; }
    Channel& channel() const noexcept { return *channel_; }
    Ticket ticket() const noexcept { return ticket_; }

  private:
    void abandon() noexcept {
        if (channel_) [[unlikely]]
            dropped();
    }
    void dropped() noexcept;
    ChannelRef take();

    ChannelRef channel_;
    Ticket ticket_ = 0;
};

// The body of a streamed response. Move-only. Destroying it without end() closes the connection, so that the client
// does not take a truncated body for a complete one. Where only the end of the connection delimits the body (HTTP/1.0),
// the connection is reset.
// Context and lifetime: as Responder. send() may be called in a fiber or on a plain thread only.
class BodyWriter {
  public:
    static constexpr std::size_t window = 128 * 1024;  // bytes

    BodyWriter(ChannelRef channel, Ticket ticket) noexcept : channel_(std::move(channel)), ticket_(ticket) {}
    BodyWriter(BodyWriter&&) noexcept = default;
    BodyWriter& operator=(BodyWriter&&) = delete;
    ~BodyWriter();

    // Sends a piece. `promise` completes once the kernel has accepted the piece, or once the piece has been omitted
    // (HEAD, 204). Never blocks: what a slow client does not accept stays in memory, without a limit. So check
    // Channel::isWritable() in a handler, and use send() in a fiber.
    void write(Buffer piece, ChannelPromise promise = {});
    // As write(), but blocks to keep pace with the client, so that less than `window` bytes plus one piece of this body
    // wait for the kernel. Throws the error of an earlier piece (ClosedChannelException), and
    // BlockingOperationException if it would block where blocking is not allowed.
    void send(Buffer piece);
    void send(std::string_view text) { send(Buffer::copyOf(text)); }
    // As send(), but never blocks: the next send() or keepPace() does. For one piece between two of these calls.
    void sendLater(Buffer piece);
    // Blocks, and throws, as the send() of the piece that has been given to sendLater().
    void keepPace();
    // Ends the body. Trailers are sent with a chunked body only, and a client may ignore them. If one of them must not
    // be a trailer, none is sent and the promise fails; the body still ends. From here on, `promise` cannot be
    // cancelled; if it has been, the body does not end.
    void end(ChannelPromise promise = {}) { end(HeaderList(), std::move(promise)); }
    void end(HeaderList trailers, ChannelPromise promise = {});
    Channel& channel() const noexcept { return *channel_; }

  private:
    ChannelRef channel_;
    Ticket ticket_;
    std::size_t unmarked_ = 0;  // bytes written by send() since its last promise
    ChannelPromise mark_;       // the last promise of send()
    ChannelPromise due_;        // the one before, which keepPace() waits for
};

}  // namespace weft::http
