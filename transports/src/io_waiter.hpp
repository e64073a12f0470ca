// IoWaiter: lets one fiber wait for one direction of a socket. Context: the socket's carrier.
#pragma once

#include <cerrno>
#include <utility>

#include <weft/scheduler/detail/lazy_timer.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::detail {

class IoWaiter {
  public:
    // Suspends the running fiber until wake() or the deadline. No event can arrive between a failed system call and
    // this wait: both run on the carrier whose poller delivers events. Throws BlockingOperationException naming `call`.
    ErrorCode wait(const char* call, Deadline deadline) {
        if (interrupted_) return operationAborted();
        Suspension wait(call);
        key_ = wait.key();
        const WakeReason why = wait.park(deadline, timer_);
        key_ = {};
        switch (why) {
            case WakeReason::resource: return interrupted_ ? operationAborted() : ErrorCode();
            case WakeReason::timeout: return timedOut();
            default: return operationAborted();
        }
    }
    void wake() noexcept {
        if (key_) std::exchange(key_, {}).wake();
    }
    // Each wait ends with operation_aborted, and so does the running one.
    void interrupt() noexcept {
        interrupted_ = true;
        wake();
    }
    bool interrupted() const noexcept { return interrupted_; }
    // As wake(), for the last time: the carrier may end afterwards.
    void close() noexcept {
        wake();
        timer_.disarm();
    }

    // Held by an operation from start to end, including while its fiber is runnable but not running.
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
    bool interrupted_ = false;
    LazyTimer timer_;
};

}  // namespace weft::detail
