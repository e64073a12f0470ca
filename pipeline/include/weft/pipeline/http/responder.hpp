// Responder: the right to answer one request (D14a). Answers leave in the order of the requests, whoever gives them
// when.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/http/header_list.hpp>
#include <weft/pipeline/http/response.hpp>

namespace weft::http {

class BodyWriter;

// Move-only. Context: any thread or fiber; on the channel's carrier a call enters the pipeline directly, elsewhere it
// is posted. Never blocks. When a responder is dropped without an answer (a fiber that threw), the codec answers with
// 500, after the request's body if one is still to come, and logs a warning; after the channel has closed, nothing
// happens. Lifetime: answering needs the channel's loop (see ChannelRef); dropping does not.
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

    // Answers, and flushes at the loop's flush point. An answer to a closed channel is dropped (the promise fails).
    // Throws std::logic_error when it has answered already, and std::invalid_argument for an interim status (below 200,
    // but for 101); then this responder can still answer.
    void send(Response response, ChannelPromise promise = {});
    // Answers with a head now and a body piece by piece: chunked, or of `contentLength` bytes when the head says so.
    // Throws as send().
    BodyWriter begin(Response head);
    // 100 Continue, 103 Early Hints: may be sent before the answer. Dropped for an HTTP/1.0 client. Throws
    // std::invalid_argument for any other status (101 is an answer), std::logic_error after the answer.
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

// The body of a streamed response. Move-only; dropping it without end() closes the connection, so that the client does
// not take a cut body for a whole one; with a reset where only the end of the connection ends the body (HTTP/1.0).
// Context and lifetime: as Responder; send(): a fiber or a plain thread.
class BodyWriter {
  public:
    static constexpr std::size_t window = 128 * 1024;  // bytes

    BodyWriter(ChannelRef channel, Ticket ticket) noexcept : channel_(std::move(channel)), ticket_(ticket) {}
    BodyWriter(BodyWriter&&) noexcept = default;
    BodyWriter& operator=(BodyWriter&&) = delete;
    ~BodyWriter();

    // Sends a piece; `promise` completes when it is in the kernel, or when it was left out (HEAD, 204). Never blocks,
    // and keeps what a slow client does not take: in a handler look at Channel::isWritable(), in a fiber use send().
    void write(Buffer piece, ChannelPromise promise = {});
    // As write(), and keeps pace with the client: blocks the fiber as long as more than `window` bytes that were sent
    // before this piece are not in the kernel. Throws what failed an earlier piece (ClosedChannelException), and
    // BlockingOperationException where nothing may block and it would.
    void send(Buffer piece);
    // The end of the body. Trailers go with a chunked body only, and a client may ignore them; fields that must not be
    // trailers are not sent, and fail the promise.
    void end(ChannelPromise promise = {});
    void end(HeaderList trailers, ChannelPromise promise = {});
    Channel& channel() const noexcept { return *channel_; }

  private:
    ChannelRef channel_;
    Ticket ticket_;
    std::size_t unmarked_ = 0;  // bytes since the last promise of send()
    ChannelPromise mark_;       // of the newest bytes that have one
};

}  // namespace weft::http
