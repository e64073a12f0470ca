// ResponseSlots: the requests of a connection whose response is not complete, oldest first, each with the messages that
// were written before its turn.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <weft/http/request_head.hpp>
#include <weft/http/response.hpp>
#include <weft/http/response_encoder.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/answer_ledger.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/least.hpp>

namespace weft::http::detail {

// What a request asks for, and the progress of its response. One word, so that one comparison detects the common case.
struct ResponseState {
    Method method = Method::get;
    Version version = Version::http11;
    bool keepAlive = true;  // the request allows the connection to persist
    bool upgrade = false;   // the request asks for another protocol
    bool answered = false;  // a final response head has been accepted
    bool headSent = false;  // ... and encoded
    bool ended = false;     // ... and its whole body accepted
    bool complete = false;  // ... and encoded: the slot can be removed

    // An unanswered HTTP/1.1 GET that keeps its connection.
    bool isPlainGet() const noexcept {
        return std::bit_cast<std::uint64_t>(*this) == std::bit_cast<std::uint64_t>(ResponseState());
    }
};

struct ResponseSlot : ResponseState {
    struct Early {
        Message message;
        ChannelPromise promise;
        std::size_t held;  // bytes of memory counted for this message
    };

    BodyFraming framing = BodyFraming::none;
    bool hasWriter : 1 = false;                 // a BodyWriter streams the response, not a handler with write()
    bool dropped : 1 = false;                   // the application has destroyed the request unanswered
    bool untaken : 1 = false;                   // ... at the tail of the pipeline
    std::uint64_t remaining = 0;                // bytes still to come of a body of known length
    std::unique_ptr<std::vector<Early>> early;  // messages accepted before their turn; null: none

    // Resets the slot for another request. `remaining` is set together with the response head.
    void renew() noexcept {
        static_cast<ResponseState&>(*this) = {};
        hasWriter = dropped = untaken = false;
        framing = BodyFraming::none;
    }
};

// A power-of-two array, addressed by ticket, that grows when full and never shrinks. Its first slot is a member, so
// that a client which awaits each response costs no allocation. Context: the channel's loop. Allocates only to grow.
class ResponseSlots : public weft::detail::AnswerLedger {
  public:
    ResponseSlots() = default;
    ResponseSlots(const ResponseSlots&) = delete;
    ResponseSlots& operator=(const ResponseSlots&) = delete;

    // See AnswerLedger. Precondition: no slot has been added.
    void join(Channel& channel) noexcept {
        AnswerLedger::join(channel);
        full_ = next_ + capacity();
    }

    bool empty() const noexcept { return firstOpen_ == next_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - firstOpen_); }
    // Adds a slot after the others; its ticket is backTicket(). Moves the others: references are valid until the next
    // add(). Throws std::bad_alloc.
    ResponseSlot& add() {
        if (next_ == full_) [[unlikely]]
            grow();
        return slotOf(next_++);
    }
    ResponseSlot& front() noexcept { return slotOf(firstOpen_); }
    Ticket frontTicket() const noexcept { return firstOpen_; }
    Ticket backTicket() const noexcept { return next_ - 1; }  // the last one given out; 0: none on this channel
    ResponseSlot& back() noexcept { return slotOf(backTicket()); }
    // The slot of this ticket, or null if its response is complete or the ticket does not exist.
    ResponseSlot* find(Ticket ticket) noexcept {
        return ticket >= firstOpen_ && ticket < next_ ? &slotOf(ticket) : nullptr;
    }
    void popFront() noexcept { popFront(front()); }
    // For a caller that already has front().
    void popFront(ResponseSlot& slot) noexcept {
        WEFT_DEBUG_ASSERT(!empty() && &slot == &front(),
                          "popFront() called without a request, or not for the front one");
        if (slot.early) [[unlikely]]
            forgetEarly(slot);
        slot.renew();
        ++firstOpen_;
        ++full_;
    }

  protected:
    ~ResponseSlots() = default;

  private:
    static constexpr std::size_t firstArray = 8;  // slots

    std::size_t capacity() const noexcept { return mask_ + 1; }
    ResponseSlot& slotOf(Ticket ticket) noexcept { return slots_[static_cast<std::size_t>(ticket) & mask_]; }
    [[gnu::noinline, gnu::cold]] static void forgetEarly(ResponseSlot& slot) noexcept { slot.early.reset(); }
    [[gnu::noinline, gnu::cold]] void grow() {
        const std::size_t larger = weft::detail::greatest(capacity() * 2, firstArray);
        auto slots = std::make_unique<ResponseSlot[]>(larger);
        for (Ticket ticket = firstOpen_; ticket != next_; ++ticket) {
            slots[static_cast<std::size_t>(ticket) & (larger - 1)] = std::move(slotOf(ticket));
        }
        array_ = std::move(slots);
        slots_ = array_.get();
        mask_ = larger - 1;
        full_ = firstOpen_ + larger;
    }

    ResponseSlot* slots_ = &own_;
    std::size_t mask_ = 0;                   // capacity() - 1
    Ticket full_ = 2;                        // firstOpen_ + capacity(): next_ when no slot is left
    std::unique_ptr<ResponseSlot[]> array_;  // null: own_ is the only slot
    ResponseSlot own_;
};

}  // namespace weft::http::detail
