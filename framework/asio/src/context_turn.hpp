// ContextTurn: one turn of a loop while its Context runs: ready handlers first, then a check for remaining work, then
// the sleep inside Asio. WakePost: the wake-up from that sleep. See docs/explanation/protocol.md, section 15.
#pragma once

#include <atomic>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::asio_io::detail {

// Operates on a host: a turn of the Service, or a model of it in the model explorer. Context: the loop. The host
// provides
//   serving(): there is a caller, or the context runs for life
//   callReady(): calls handlers and functions within the budget; calledNone(): none was called in this turn
//   stopSeen(), stopped(): Asio has been stopped; the former may lag behind another thread's stop()
//   mayEnd(): the context ends when it has no work
//   releaseWork(), holdWork(): the loop's own unit of Asio's work
//   callOne(): io_context::poll_one(); endNonWaitingRunners(): releases callers of poll()
//   releaseAllRunners(): releases all callers
//   maySleep(), sleep(): the carrier's guard, and a sleep inside io_context::run_one()
template <class Host>
class ContextTurn {
  public:
    explicit ContextTurn(Host& host) noexcept : host_(host) {}

    void run() {
        host_.callReady();
        if (!host_.serving()) return;
        if (host_.stopSeen() || (host_.calledNone() && host_.stopped())) return host_.releaseAllRunners();
        if (host_.calledNone()) passIdle();
    }

  private:
    // Without the loop's unit only the users' work counts, and Asio stops when it is zero, even during the sleep. [A1]
    void passIdle() {
        if (host_.mayEnd()) {
            host_.releaseWork();
            host_.callOne();
            if (host_.stopped()) return host_.releaseAllRunners();
            if (host_.calledNone()) host_.endNonWaitingRunners();
            if (!host_.serving()) return;
        }
        if (host_.calledNone() && host_.maySleep()) host_.sleep();
        if (host_.stopped()) host_.releaseAllRunners();
        if (host_.serving()) host_.holdWork();
    }

    Host& host_;
};

// What Asio's reactor does when Asio asks for events during the sleep, for which PollGuard::enter() has been called.
// Operates on a host, which provides
//   entered(): the guard is entered; enter(), leave(): those of the guard
//   wait(): the blocking system call; look(): the same without blocking
//   takeOwn(): takes the carrier's own events out of the ready ones, and returns whether there were any
//   callReady(): calls ready operations within the budget, and returns whether there were any
//   nothingForAsio(): Asio has no operation left to call; giveUp(): makes run_one() return
// Context: the loop.
template <class Host>
class ReactorTurn {
  public:
    explicit ReactorTurn(Host& host) noexcept : host_(host) {}

    // Leaves the guard before it calls anything that is ready. Asio asks again when it has nothing to call, and each
    // such request is a new sleep. `mayWait`: Asio has nothing to call. [A3]
    void run(bool mayWait) {
        const bool sleeps = mayWait && (host_.entered() || host_.enter());
        if (sleeps) host_.wait();
        if (host_.entered()) host_.leave();
        if (!sleeps) host_.look();
        const bool found = host_.takeOwn();
        const bool called = host_.callReady();
        if (mayWait && host_.nothingForAsio() && (found || called || !sleeps)) host_.giveUp();
    }

  private:
    Host& host_;
};

// Keeps at most one wake-up in Asio's queue.
template <class P>
class BasicWakePost {
  public:
    // Call it after publishing what the loop must see. Returns true when the caller must post the wake-up. Any thread.
    // [A2]
    [[nodiscard]] bool claim() noexcept { return !posted_.exchange(true, std::memory_order_seq_cst); }
    // Called by the loop inside the wake-up, before it reads what was published. [A2]
    void arrived() noexcept { posted_.store(false, std::memory_order_seq_cst); }

  private:
    typename P::template Atomic<bool> posted_{false};
};

using WakePost = BasicWakePost<weft::detail::NativeAtomics>;

}  // namespace weft::asio_io::detail
