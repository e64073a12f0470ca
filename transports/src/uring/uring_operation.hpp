// UringOperation: one request to the kernel, from its submission to its last completion.
#pragma once

#include <weft/scheduler/assert.hpp>
#include <weft/transports/detail/ready_list.hpp>

struct io_uring_sqe;

namespace weft {

// Its address is the key by which the kernel names it, so it stays where it is while it is in flight. The link is of the
// ring's lists. Context: the carrier.
class UringOperation : private detail::ReadyLink {
  public:
    struct Kind {
        // Fills the entry, but for its key. Called once for each start, now or later.
        void (*prepare)(UringOperation& operation, io_uring_sqe& entry) noexcept;
        // With IORING_CQE_F_MORE in `flags` it goes on; otherwise it is over, and may be started again or destroyed.
        void (*completed)(UringOperation& operation, int result, unsigned flags);
        bool isEvent = true;  // false: what completes is no event of a socket
    };

    // `count`: how many operations its owner has in flight.
    UringOperation(const Kind& kind, unsigned& count) noexcept : kind_(kind), count_(count) {}
    UringOperation(const UringOperation&) = delete;
    UringOperation& operator=(const UringOperation&) = delete;
    ~UringOperation() { WEFT_ASSERT(!inFlight_, "an operation of io_uring was destroyed while the kernel has it"); }

    bool inFlight() const noexcept { return inFlight_; }
    bool cancelling() const noexcept { return cancelling_; }

  private:
    friend class UringRing;

    void begin() noexcept {
        WEFT_DEBUG_ASSERT(!inFlight_, "an operation of io_uring was started twice");
        inFlight_ = true;
        ++count_;
    }
    void end() noexcept {
        unlink();
        inFlight_ = submitted_ = cancelling_ = cancelSubmitted_ = over_ = false;
        --count_;
    }

    const Kind& kind_;
    unsigned& count_;
    bool inFlight_ = false;
    bool submitted_ = false;   // the kernel has it, or an entry of the ring
    bool cancelling_ = false;       // has been asked to end
    bool cancelSubmitted_ = false;  // the kernel has that, too, and has not answered
    bool over_ = false;             // its last completion came, before that answer
    int result_ = 0;                // then
    unsigned flags_ = 0;
};

}  // namespace weft
