// Suspension: one wait of the running fiber or of a plain thread. Everything in Weft that blocks is built on it.
#pragma once

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/task.hpp>

namespace weft {

class Carrier;
namespace detail {
struct Fiber;
class LazyTimer;
}  // namespace detail

// Where a fiber with Stealable::any may resume after a wait without a deadline.
enum class Resumes : unsigned char {
    atHome,
    anywhere,  // for a call that uses nothing of the home carrier between the wake and its return
};

// Lives on the waiter's stack:
//     Suspension wait("TcpStream::read");       // begins the wait; does not suspend; the text must stay valid
//     object.waiter = wait.key();               // give keys to everything that may end the wait
//     WakeReason why = wait.park(deadline);     // suspends; returns at once if a key has been used already
//     object.waiter = {};                       // withdraw the other keys
// Context: a fiber outside dispatch, or a plain thread that is no carrier. At most one per fiber or thread at a time.
class Suspension {
  public:
    // Throws BlockingOperationException, which names `call`, where nothing may block. Never allocates or blocks, except
    // that a fiber on another carrier goes home. To construct one under a lock, call goHome() before you take the lock.
    explicit Suspension(const char* call, Resumes where = Resumes::atHome);
    // False where the constructor would throw. Any thread.
    static bool allowed() noexcept;
    // True if the running fiber runs on another carrier than its home. Any thread.
    static bool isAway() noexcept;
    // As thisFiber::goHome(); the exception names `call`.
    static void goHome(const char* call);

    // Ends the wait if it was never parked.
    ~Suspension();
    Suspension(const Suspension&) = delete;
    Suspension& operator=(const Suspension&) = delete;

    WakeKey key(WakeReason branch = WakeReason::resource) const noexcept { return {*task_, epoch_, branch}; }

    // Suspends until a key wakes it, the deadline passes (WakeReason::timeout), the fiber or a CancelScope around it is
    // cancelled or the deadline of a DeadlineScope around it passes (`cancelled`), or its carrier shuts down
    // (`shutdown`). If one of the last four has happened already, park() yields to the other fibers once and returns
    // that reason. On a plain thread the scopes apply, too. Parks a fiber, blocks a plain thread. Call it at most once.
    // Never throws.
    WakeReason park(Deadline deadline = never) noexcept;
    // The same with a timer that stays armed from one wait to the next; one waiter at a time. On a plain thread the
    // timer is not used.
    WakeReason park(Deadline deadline, detail::LazyTimer& timer) noexcept;

    // Suspends until a key wakes it; returns the key's branch. Neither a cancellation, nor a scope, nor the carrier's
    // shutdown ends this wait; the fiber's next park() then returns that reason. Use it only if the wake is certain to
    // come and its sender uses the waiter's stack until then (a kernel operation in flight, a child that uses the
    // waiter's variables): the fiber's carrier cannot end before the wake. If CarrierGroup::shutdown() times out, it
    // logs the fiber and `call`. Parks a fiber, blocks a plain thread. Call it at most once, instead of park(). Never
    // throws.
    WakeReason parkUninterruptibly() noexcept;
    // The same for a wait that goes on after an interruption of the fiber's previous one: a fiber dump reports the time
    // since that one began.
    WakeReason continueUninterruptibly() noexcept;

  private:
    static detail::Fiber* fiberThatMayWait(const Carrier& carrier) noexcept;
    bool refuse(const Carrier& carrier) const noexcept;
    WakeReason parkHere(Deadline deadline, detail::LazyTimer* timer) noexcept;
    WakeReason parkUntil(Carrier& carrier, bool refused, Deadline deadline, WakeReason atDeadline,
                         detail::LazyTimer* timer) const noexcept;
    WakeReason parkInScope(Carrier& carrier, Deadline deadline, detail::LazyTimer* timer) const noexcept;
    WakeReason parkThrough(bool continues) noexcept;
    void switchOut(Carrier& carrier) const noexcept;
    void switchOutAgain(Carrier& carrier) const noexcept;
    void switchOutTimed(Carrier& carrier, Deadline deadline, WakeReason atDeadline) const noexcept;
    void switchOutTimed(Carrier& carrier, Deadline deadline, WakeReason atDeadline,
                        detail::LazyTimer& timer) const noexcept;

    Task* task_;
    detail::ParkToken::Epoch epoch_;
    bool parked_ = false;
    const bool anywhere_;
};

}  // namespace weft
