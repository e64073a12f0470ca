// UringOperation: one request to the kernel, from its submission to its last completion.
#pragma once

#include <cerrno>

#include <weft/scheduler/assert.hpp>
#include <weft/transports/detail/ready_list.hpp>

struct io_uring_sqe;

namespace weft {

// The operation was not performed, for no lasting reason: it may be restarted at once.
inline bool isToBeDoneAgain(int result) noexcept {
    return result == -EINTR || result == -EAGAIN || result == -ECANCELED;
}

// The kernel identifies an operation by its address, so it must not move while it is in flight. The link belongs to the
// ring's lists. Context: the carrier.
class UringOperation : private detail::ReadyLink {
  public:
    struct Kind {
        // Fills the entry, except for its key. Called once per start, during start() or later.
        void (*prepare)(UringOperation& operation, io_uring_sqe& entry) noexcept;
        // With IORING_CQE_F_MORE in `flags` the operation continues; otherwise it is over and may be restarted or
        // destroyed.
        void (*completed)(UringOperation& operation, int result, unsigned flags);
        bool isEvent = true;  // false: its completions are not events of a socket
    };

    // `count` counts the owner's operations in flight.
    UringOperation(const Kind& kind, unsigned& count) noexcept : kind_(kind), count_(count) {}
    UringOperation(const UringOperation&) = delete;
    UringOperation& operator=(const UringOperation&) = delete;
    ~UringOperation() { WEFT_ASSERT(!inFlight(), "an io_uring operation was destroyed while the kernel uses it"); }

    bool inFlight() const noexcept { return state_ != 0; }
    bool cancelling() const noexcept { return has(cancelRequested); }

  private:
    friend class UringRing;

    using State = unsigned char;
    static constexpr State started = 1 << 0;
    static constexpr State submitted = 1 << 1;  // in an entry of the ring, or in the kernel
    static constexpr State cancelRequested = 1 << 2;
    static constexpr State cancelSubmitted = 1 << 3;  // the cancellation was submitted and is not answered yet
    static constexpr State over = 1 << 4;             // its last completion came before that answer

    bool has(State state) const noexcept { return (state_ & state) != 0; }
    void begin() noexcept {
        WEFT_DEBUG_ASSERT(!inFlight(), "an io_uring operation was started twice");
        state_ = started;
        ++count_;
    }
    void end() noexcept {
        if (has(cancelRequested)) [[unlikely]]
            unlink();
        state_ = 0;
        --count_;
    }

    const Kind& kind_;
    unsigned& count_;
    State state_ = 0;
    int result_ = 0;  // valid when over
    unsigned flags_ = 0;
};

}  // namespace weft
