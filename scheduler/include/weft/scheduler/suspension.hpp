// Suspension: one wait of the running fiber, or of a plain thread. Everything that blocks in Weft is written on it.
#pragma once

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/task.hpp>

namespace weft {

class Carrier;

// Where a fiber may go on after a wait without a deadline, if others may steal it at any time (Stealable::any).
enum class Resumes : unsigned char {
    atHome,
    anywhere,  // nothing that belongs to its carrier is touched between the wake and the caller's own code
};

// Lives on the waiter's stack:
//     Suspension wait("TcpStream::read");       // registers; still running; the text must stay valid
//     object.waiter = wait.key();               // hand keys to whoever may end the wait
//     WakeReason why = wait.park(deadline);     // suspends; returns at once when somebody has won already
//     object.waiter = {};                       // withdraw the keys that did not win
// Context: a fiber outside dispatch, or a plain thread that is no carrier. One at a time per fiber.
class Suspension {
  public:
    // Throws BlockingOperationException naming `call` where nothing may block. Never allocates. At home it does not block; a
    // fiber that is away goes home, so call goHome() before you take a lock that you hold while you construct one.
    explicit Suspension(const char* call, Resumes where = Resumes::atHome);
    // False where the constructor would throw. Any thread.
    static bool allowed() noexcept;
    // Whether the running fiber runs on another carrier than its home. Any thread.
    static bool isAway() noexcept;
    // thisFiber::goHome(), which throws BlockingOperationException naming `call`.
    static void goHome(const char* call);

    // Ends a wait that was never parked.
    ~Suspension();
    Suspension(const Suspension&) = delete;
    Suspension& operator=(const Suspension&) = delete;

    WakeKey key(WakeReason branch = WakeReason::resource) const noexcept { return {*task_, epoch_, branch}; }

    // Suspends until a key wakes, the deadline passes (WakeReason::timeout), the fiber is cancelled (cancelled) or its
    // carrier shuts down (shutdown). A fiber that waits after one of the last two gets it at once, behind a turn of the
    // others. Parks a fiber, blocks a thread. At most once. Never throws.
    WakeReason park(Deadline deadline = never) noexcept;

    // Suspends until a key wakes, and for nothing else; returns the key's branch. A cancellation or a shutdown that
    // comes meanwhile is remembered: the fiber's next park() ends with it at once. A fiber that has been cancelled, or
    // whose carrier shuts down, waits all the same. For a wake that is certain to come, from somebody who uses the
    // waiter's stack until then (a kernel operation under way, a child that runs on the waiter's variables): until it
    // comes, the fiber's carrier cannot end. CarrierGroup::shutdown() logs the fiber and `call` when it takes longer
    // than its timeout. Parks a fiber, blocks a thread. At most once, instead of park(). Never throws.
    WakeReason parkUninterruptibly() noexcept;

  private:
    static bool allowedOn(const Carrier& carrier) noexcept;
    bool refuse(const Carrier& carrier) const noexcept;
    void switchOut(Carrier& carrier) const noexcept;

    Task* task_;
    detail::ParkToken::Epoch epoch_;
    bool parked_ = false;
    const bool anywhere_;
};

}  // namespace weft
