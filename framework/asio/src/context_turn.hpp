// ContextTurn: one turn of a loop while its Context runs: what is ready, then whether work is left, then the sleep
// inside Asio. WakePost: the wake-up out of that sleep. docs/protocol.md section 15.
#pragma once

#include <atomic>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::asio_io::detail {

// A view of its host: a turn of the Service, or what the model explorer takes for one. Context: the loop.
// The host has
//   serving(): somebody runs the context
//   callReady(): handlers and functions, as the budget allows; calledNone(): none was called in this turn
//   stopSeen(), stopped(): Asio has been stopped; the first may lag behind another thread's stop()
//   mayEnd(): the context ends without work
//   releaseWork(), holdWork(): the loop's own unit of Asio's work
//   callOne(): io_context::poll_one(); letGoThoseWhoDoNotWait(): callers of poll(); letAllGo(): every caller
//   maySleep(), sleep(): by the carrier's guard, inside io_context::run_one()
template <class Host>
class ContextTurn {
  public:
    explicit ContextTurn(Host& host) noexcept : host_(host) {}

    void run() {
        host_.callReady();
        if (!host_.serving()) return;
        if (host_.stopSeen() || (host_.calledNone() && host_.stopped())) return host_.letAllGo();
        if (host_.calledNone()) passIdle();
    }

  private:
    // Without the loop's unit the count is the users', and Asio stops when it is zero, also during the sleep. [A1]
    void passIdle() {
        if (host_.mayEnd()) {
            host_.releaseWork();
            host_.callOne();
            if (host_.stopped()) return host_.letAllGo();
            if (host_.calledNone()) host_.letGoThoseWhoDoNotWait();
            if (!host_.serving()) return;
        }
        if (host_.calledNone() && host_.maySleep()) host_.sleep();
        if (host_.stopped()) host_.letAllGo();
        if (host_.serving()) host_.holdWork();
    }

    Host& host_;
};

// What Asio's reactor does when Asio asks for events during the sleep, which PollGuard::enter() has begun. A view of its
// host, which has
//   entered(): the guard is entered; enter(), leave(): the guard's
//   wait(): the blocking system call; look(): the same without blocking
//   takeOwn(): takes the carrier's own events out of what is ready, and returns whether there were any
//   callReady(): calls what is ready, as the budget allows, and returns whether there was anything
//   nothingForAsio(): nothing was left for Asio to call; giveUp(): makes run_one() return
// Context: the loop.
template <class Host>
class ReactorTurn {
  public:
    explicit ReactorTurn(Host& host) noexcept : host_(host) {}

    // The guard is left before anything that is ready is called. Asio asks again when it has nothing to call, and each
    // time is a sleep of its own. `mayWait`: Asio has nothing to call. [A3]
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

// At most one wake-up is in Asio's queue.
template <class P>
class BasicWakePost {
  public:
    // Any thread, after it has published what the loop is to see. True: the caller posts the wake-up. [A2]
    [[nodiscard]] bool claim() noexcept { return !posted_.exchange(true, std::memory_order_seq_cst); }
    // The loop, inside the wake-up, before it looks at what was published. [A2]
    void arrived() noexcept { posted_.store(false, std::memory_order_seq_cst); }

  private:
    typename P::template Atomic<bool> posted_{false};
};

using WakePost = BasicWakePost<weft::detail::NativeAtomics>;

}  // namespace weft::asio_io::detail
