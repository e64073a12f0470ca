// WaitList: fibers and threads that wait for a condition that a mutex guards.
#pragma once

#include <mutex>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft {

// The mutex belongs to the owner of the list; nothing suspends while it is held. Never allocates. Wait is Suspension,
// or the model explorer's equivalent. docs/explanation/protocol.md section 10.
template <class Wait>
class BasicWaitList {
    using Queue = detail::BasicWaiterQueue<Wait, detail::NoRequest>;

  public:
    BasicWaitList() = default;
    BasicWaitList(const BasicWaitList&) = delete;
    BasicWaitList& operator=(const BasicWaitList&) = delete;

    // Waits until `ready()`, called under the lock, returns true; then returns no error. Returns timedOut() if the
    // deadline passed first, operationAborted() if the fiber was cancelled or its carrier shuts down. If ready() is
    // true at once, the call blocks nowhere; otherwise it throws BlockingOperationException, which names `call`, where
    // nothing may block.
    template <class Mutex, class Until, class Ready>
    ErrorCode waitUntil(Mutex& mutex, Until deadline, const char* call, Ready ready) {
        std::unique_lock lock(mutex);
        comeHome(lock, call, ready);
        while (!ready()) {
            Wait wait(call);
            Waiter waiter;
            waiter.key = wait.key();
            waiters_.append(waiter);
            lock.unlock();
            const WakeReason why = wait.park(deadline);
            lock.lock();
            waiters_.remove(waiter);
            if (why != WakeReason::resource && !ready()) return detail::errorOf(why);
        }
        return {};
    }

    // As waitUntil(), but only `ready()` ends the wait: see Suspension::parkUninterruptibly().
    template <class Mutex, class Ready>
    void waitUninterruptibly(Mutex& mutex, const char* call, Ready ready) {
        std::unique_lock lock(mutex);
        comeHome(lock, call, ready);
        while (!ready()) {
            Wait wait(call);
            Waiter waiter;
            waiter.key = wait.key();
            waiters_.append(waiter);
            lock.unlock();
            static_cast<void>(wait.parkUninterruptibly());
            lock.lock();
            waiters_.remove(waiter);
        }
    }

    using Waiter = typename Queue::Waiter;
    using Woken = typename Queue::Woken;

    // The halves of a wait, for a caller that waits for several things. enlist() returns false if `ready()` is true.
    // Otherwise `waiter`, whose key is set, is in the list; the caller must call withdraw() when its wait has ended,
    // whatever ended it.
    template <class Mutex, class Ready>
    [[nodiscard]] bool enlist(Mutex& mutex, Waiter& waiter, Ready ready) {
        std::lock_guard held(mutex);
        if (ready()) return false;
        waiters_.append(waiter);
        return true;
    }
    template <class Mutex>
    void withdraw(Mutex& mutex, Waiter& waiter) {
        std::lock_guard held(mutex);
        waiters_.remove(waiter);
    }

    // Ends the wait of every waiter. Context: any thread that holds the mutex; it must unlock the mutex before it calls
    // resume() on the result. [C2]
    [[nodiscard]] Woken claimAll() noexcept {
        Woken woken;
        Queue::endAll(waiters_.takeAll(), woken);
        return woken;
    }
    // claimAll() and resume(). Context: any thread that holds the mutex.
    void wakeAll() noexcept { claimAll().resume(); }

    // Calls `change()`, which changes the condition, under the mutex; then unlocks the mutex and wakes every waiter, so
    // that no waiter blocks on the mutex. If change() throws, the exception goes to the caller and no waiter is woken.
    // Context: any thread that does not hold the mutex.
    template <class Mutex, class Change>
    void changeAndWakeAll(Mutex& mutex, Change change) {
        Woken woken;
        {
            std::lock_guard held(mutex);
            change();
            woken = claimAll();
        }
        woken.resume();
    }

  private:
    // A fiber that has to wait and runs on another carrier goes home first, with the mutex unlocked. The wait then
    // begins under the mutex without a switch.
    template <class Lock, class Ready>
    static void comeHome(Lock& lock, const char* call, Ready& ready) {
        if constexpr (requires { Wait::isAway(); }) {
            if (!Wait::isAway() || ready()) [[likely]]
                return;
            lock.unlock();
            Wait::goHome(call);
            lock.lock();
        }
    }

    Queue waiters_;
};

using WaitList = BasicWaitList<Suspension>;

}  // namespace weft
