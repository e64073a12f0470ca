// ServerConnection: what the two halves of a server codec share. ConnectionOwner: what they need of the codec.
#pragma once

#include <bit>
#include <cstdint>

#include <weft/http/detail/response_slots.hpp>
#include <weft/http/response.hpp>

namespace weft {
class ChannelHandlerContext;
class EventLoop;
}  // namespace weft

namespace weft::http::detail {

// The codec, as its reader and its writer see it. Context: the channel's loop. Any of these may end the connection or
// remove the codec, except those that are noexcept.
class ConnectionOwner {
  public:
    // A response is complete, or its early messages have been written: there may be room for another request.
    virtual void responseAdvanced() = 0;
    // The last response has been written: sends it, then ends the connection in order.
    virtual void closeAfterResponse() = 0;
    // The request that asked for another protocol has been read and answered: HTTP goes on, or ends.
    virtual void decideProtocol() = 0;
    // The connection ends with the response to `ticket`, or in the middle of it: later requests could never be
    // answered. A handler that streams the response still gets the whole body of its request.
    virtual void expectNoMore(Ticket ticket, bool streamed) noexcept = 0;
    // True if another request may be in the bytes that have arrived.
    virtual bool hasFurtherInput() const noexcept = 0;
    // See AnswerLedger.
    virtual void requestDropped(const weft::detail::AnswerLedger::Drop& drop) = 0;

  protected:
    ~ConnectionOwner() = default;
};

// Conditions that need the slow path. any() checks all of them with one comparison.
struct SlowPathFlags {
    bool busy = true;             // a response is being encoded (see ReentrancyGuard), or the codec is in no pipeline
    bool requestsSwitch = false;  // the last request read asks for another protocol; until the next request begins
    bool continueDue = false;     // the client expects 100 or a final answer before it sends the body
    bool blocked = false;         // the channel was not writable at its last notification
    bool crowded = false;         // too much memory is held by responses that wait for their turn
    bool paused = false;          // decoding is suspended: maxInFlight, blocked, crowded, or undecided
    bool draining = false;        // no further request is read, except up to the drain barrier
    bool closing = false;         // the last response has been encoded: later ones fail

    bool any() const noexcept { return std::bit_cast<std::uint64_t>(*this) != 0; }
};

class OpenRequests final : public ResponseSlots {
  public:
    explicit OpenRequests(ConnectionOwner& owner) noexcept : owner_(owner) {}
    void dropped(const Drop& drop) override { owner_.requestDropped(drop); }

  private:
    ConnectionOwner& owner_;
};

// One per connection, owned by its codec. The members that every request uses come first.
struct ServerConnection {
    explicit ServerConnection(ConnectionOwner& owner) noexcept : slots(owner), owner(owner) {}

    ChannelHandlerContext* ctx = nullptr;  // of the codec; null: it is in no pipeline
    EventLoop* loop = nullptr;             // of ctx
    OpenRequests slots;                    // the reader adds one for each request, the writer removes it
    SlowPathFlags slowPath;
    Ticket delivering = noTicket;  // the request whose messages are being fired
    Ticket bodyTicket = noTicket;  // the request whose body is being read, or was read last
    bool atDrainBarrier = false;   // a drain waits until the input that had arrived has been read
    bool inputShutdown = false;    // the client has ended its output
    bool outputShutdown = false;   // the last response has been sent, and our output ended
    bool hadHalfClosure = false;   // ALLOW_HALF_CLOSURE before the codec set it
    ConnectionOwner& owner;
};

}  // namespace weft::http::detail
