// Responder: the right to answer one request (D14a). Answers leave in the order of the requests, whoever gives them
// when.
#pragma once

#include <cstdint>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/http/response.hpp>

namespace weft::http {

class BodyWriter;

// Move-only. Context: any thread or fiber; on the channel's carrier a call enters the pipeline directly, elsewhere it
// is posted. Never blocks. A responder that is dropped without an answer (a fiber that threw) answers 500.
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
    // Throws std::logic_error when it has answered already.
    void send(Response response, ChannelPromise promise = {});
    // Answers with a head now and a body piece by piece: chunked, or of `contentLength` bytes when the head says so.
    BodyWriter begin(Response head);
    // 100 Continue, 103 Early Hints: may be sent before the answer.
    void sendInterim(Response response);

    bool answered() const noexcept { return !channel_; }
    Channel& channel() const noexcept { return *channel_; }
    Ticket ticket() const noexcept { return ticket_; }

  private:
    void abandon() noexcept;
    ChannelRef take();

    ChannelRef channel_;
    Ticket ticket_ = 0;
};

// The body of a streamed response. Move-only; dropping it without end() closes the connection, so that the client does
// not take a cut body for a whole one. Context: as Responder.
class BodyWriter {
  public:
    BodyWriter(ChannelRef channel, Ticket ticket) noexcept : channel_(std::move(channel)), ticket_(ticket) {}
    BodyWriter(BodyWriter&&) noexcept = default;
    BodyWriter& operator=(BodyWriter&&) = delete;
    ~BodyWriter();

    // Sends a piece; `promise` completes when it is in the kernel, which is how a fiber keeps pace with a slow client.
    void write(Buffer piece, ChannelPromise promise = {});
    void end(ChannelPromise promise = {});
    Channel& channel() const noexcept { return *channel_; }

  private:
    ChannelRef channel_;
    Ticket ticket_;
};

}  // namespace weft::http
