// IoWaiter: the place where one fiber waits for one direction of a socket. Everything happens on the socket's carrier.
#pragma once

#include <cerrno>
#include <utility>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::detail {

class IoWaiter {
  public:
    // Suspends the running fiber until wake() or the deadline. No event can come between a failed system call and this
    // one: both run on the carrier whose poller delivers events. Throws BlockingOperationException naming `call`.
    ErrorCode wait(const char* call, Deadline deadline) {
        Suspension wait(call);
        key_ = wait.key();
        const WakeReason why = wait.park(deadline);
        key_ = {};
        switch (why) {
            case WakeReason::resource:
                return {};
            case WakeReason::timeout:
                return timedOut();
            default:
                return operationAborted();
        }
    }
    void wake() noexcept {
        if (key_) std::exchange(key_, {}).wake();
    }

    // Taken by an operation for its whole length, also while its fiber is runnable and not yet running.
    class Claim {
      public:
        explicit Claim(IoWaiter& waiter) noexcept : waiter_(waiter), won_(!std::exchange(waiter.busy_, true)) {}
        ~Claim() {
            if (won_) waiter_.busy_ = false;
        }
        Claim(const Claim&) = delete;
        Claim& operator=(const Claim&) = delete;
        explicit operator bool() const noexcept { return won_; }

      private:
        IoWaiter& waiter_;
        const bool won_;
    };
    static ErrorCode alreadyInUse() noexcept { return fromErrno(EALREADY); }

  private:
    WakeKey key_;
    bool busy_ = false;
};

}  // namespace weft::detail
