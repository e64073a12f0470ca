// ResponseSlots: the requests of a connection that have no complete answer yet, oldest first, with what has been said
// early about each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/pipeline/http/request_head.hpp>
#include <weft/pipeline/http/response.hpp>
#include <weft/pipeline/http/response_encoder.hpp>
#include <weft/pipeline/message.hpp>

namespace weft::http {

struct alignas(32) ResponseSlot {
    struct Early {
        Message message;
        ChannelPromise promise;
    };

    Version version = Version::http11;
    Method method = Method::get;
    bool keepAlive = true;  // what the request allows
    bool upgrade = false;   // the request asks for another protocol
    bool answered = false;  // a final head has been accepted
    bool headSent = false;  // ... and encoded
    bool ended = false;     // ... with its body, and accepted
    bool complete = false;  // ... and encoded: the slot can go
    BodyFraming framing = BodyFraming::none;
    std::uint64_t remaining = 0;    // bytes of a body of known length still to come
    std::unique_ptr<std::vector<Early>> early;  // accepted before this slot was the front one; null: nothing
};

// Context: the channel's loop. Allocates only while its ring grows.
class ResponseSlots {
  public:
    bool empty() const noexcept { return slots_.empty(); }
    std::size_t size() const noexcept { return slots_.size(); }
    // A slot behind the others; its ticket is backTicket().
    ResponseSlot& add() { return slots_.push(); }
    ResponseSlot& front() noexcept { return slots_.front(); }
    Ticket frontTicket() const noexcept { return first_; }
    Ticket backTicket() const noexcept { return first_ + slots_.size() - 1; }  // 0: there never was one
    std::uint64_t added() const noexcept { return backTicket(); }              // so far
    ResponseSlot& back() noexcept { return slots_[slots_.size() - 1]; }
    // The slot of a ticket, or null when it is not waiting for an answer (any more).
    ResponseSlot* find(Ticket ticket) noexcept {
        if (ticket < first_ || ticket - first_ >= slots_.size()) return nullptr;
        return &slots_[static_cast<std::size_t>(ticket - first_)];
    }
    // What a message without a ticket is about: the oldest slot without an answer (a Response), or the oldest whose
    // answer has begun (a Content). 0: there is none.
    Ticket oldest(bool answered) noexcept {
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i].answered == answered && !slots_[i].ended) return first_ + i;
        }
        return 0;
    }
    void popFront() noexcept {
        slots_.drop();
        ++first_;
    }

  private:
    weft::detail::Ring<ResponseSlot> slots_;
    Ticket first_ = 1;
};

}  // namespace weft::http
