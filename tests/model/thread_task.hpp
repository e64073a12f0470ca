// ThreadTask: a plain thread as a task, driven as scheduler/src/thread_task.cpp drives one: its shipped ParkToken, its
// enqueue, its sleep in a futex. Shared by the tests of the park token and of joining.
#pragma once

#include <weft/scheduler/detail/park_token.hpp>

#include "atomics.hpp"
#include "blocking.hpp"
#include "explorer.hpp"

namespace weft::model {

using ParkToken = detail::BasicParkToken<Atomics>;
using Epoch = ParkToken::Epoch;
using Branch = ParkToken::Branch;

class ThreadTask {
  public:
    static constexpr Branch resource = 1;
    static constexpr Branch timeout = 2;

    Epoch prepare() { return token.prepare(); }

    // parkUntil(): sleeps until a waker or, if possible, the timeout ends the wait; returns which.
    Branch park(Epoch epoch, Timeout limit) {
        if (!token.commit(epoch)) return token.finish();
        if (!block(limit) && token.claim(epoch, timeout) == detail::Claim::lost) block(Timeout::never);
        return token.finish();
    }
    // WakeKey::wake()
    bool wake(Epoch epoch, Branch branch) {
        const detail::Claim claim = token.claim(epoch, branch);
        if (claim == detail::Claim::enqueue) enqueue();
        return claim != detail::Claim::lost;
    }

    void enqueue() {
        runnable_.store(1, std::memory_order_release);  // [P1]
        futexWake(runnable_);
    }

    ParkToken token;

  private:
    bool block(Timeout limit) {
        while (runnable_.load(std::memory_order_acquire) == 0) {  // [P1]
            if (!futexWait(runnable_, 0, limit)) return false;
        }
        runnable_.store(0, std::memory_order_relaxed);
        return true;
    }

    Atomic<std::uint32_t> runnable_{0};
};

}  // namespace weft::model
