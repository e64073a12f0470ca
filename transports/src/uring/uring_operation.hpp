// UringOperation: one request to the kernel, from its submission to its last completion.
#pragma once

#include <cerrno>

#include <weft/scheduler/assert.hpp>
#include <weft/transports/detail/ready_list.hpp>

struct io_uring_sqe;

namespace weft {

// Not done, through nobody's fault: it may be started again at once.
inline bool isToBeDoneAgain(int result) noexcept {
    return result == -EINTR || result == -EAGAIN || result == -ECANCELED;
}

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
    ~UringOperation() { WEFT_ASSERT(!inFlight(), "an operation of io_uring was destroyed while the kernel has it"); }

    bool inFlight() const noexcept { return state_ != 0; }
    bool cancelling() const noexcept { return has(askedToEnd); }

  private:
    friend class UringRing;

    using State = unsigned char;
    static constexpr State started = 1 << 0;
    static constexpr State submitted = 1 << 1;        // the kernel has it, or an entry of the ring
    static constexpr State askedToEnd = 1 << 2;
    static constexpr State cancelSubmitted = 1 << 3;  // the kernel has that, too, and has not answered
    static constexpr State over = 1 << 4;             // its last completion came, before that answer

    bool has(State state) const noexcept { return (state_ & state) != 0; }
    void begin() noexcept {
        WEFT_DEBUG_ASSERT(!inFlight(), "an operation of io_uring was started twice");
        state_ = started;
        ++count_;
    }
    void end() noexcept {
        if (has(askedToEnd)) [[unlikely]]
            unlink();
        state_ = 0;
        --count_;
    }

    const Kind& kind_;
    unsigned& count_;
    State state_ = 0;
    int result_ = 0;  // when it is over
    unsigned flags_ = 0;
};

}  // namespace weft
