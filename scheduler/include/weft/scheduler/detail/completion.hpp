// Completion: a status that becomes final once, with waiters and listeners. The core of the state that a promise shares
// with its futures. docs/explanation/protocol.md section 10.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What the caller of end() must do.
enum class [[nodiscard]] EndDuty : std::uint8_t{
    refused,        // nothing: the status was final already, or mayEnd() refused
    none,           // nothing: this call ended it, and there are no listeners
    callListeners,  // this call ended it; the caller must call the listeners
};

// Listeners in the order in which they were added. Listener: movable, empty by default, `reset()` empties it.
template <class Listener>
class ListenerList {
  public:
    bool empty() const noexcept { return !first_; }
    // Throws std::bad_alloc; the list is then unchanged.
    void append(Listener listener) {
        if (empty()) {
            first_ = std::move(listener);
        } else {
            if (!more_) more_ = std::make_unique<std::vector<Listener>>();
            more_->push_back(std::move(listener));
        }
    }
    // Takes all listeners of `other`. This list must be empty.
    void takeFrom(ListenerList& other) noexcept {
        first_ = std::move(other.first_);
        more_.swap(other.more_);
    }
    // Calls and destroys each listener, the oldest first.
    template <class Call>
    void callAll(Call call) {
        if (empty()) return;
        callOne(first_, call);
        if (!more_) return;
        for (Listener& listener : *more_) callOne(listener, call);
        more_.reset();
    }

  private:
    template <class Call>
    static void callOne(Listener& listener, Call& call) {
        call(listener);
        listener.reset();
    }

    Listener first_;  // outside the vector: nearly every promise has at most one listener
    std::unique_ptr<std::vector<Listener>> more_;
};

// The status begins with the value 0; the values from `firstFinal` on are final. The lock guards everything except
// reads of the status; no listener is called and nothing suspends while it is held. Waiters: a BasicWaitList.
// Context: any thread that holds a reference for the whole call.
template <class P, auto firstFinal, class Listener, class Waiters>
class BasicCompletion {
  public:
    using Status = decltype(firstFinal);
    using Listeners = ListenerList<Listener>;

    static constexpr bool isFinal(Status status) noexcept { return status >= firstFinal; }

    // If the status is final, the data published with it can be read. The completing thread may still use this object;
    // settled() excludes that. [C1]
    Status status() const noexcept { return status_.load(std::memory_order_acquire); }
    // True if the status is final and the completing thread no longer uses this object (unless it has listeners). [C3]
    bool settled() const {
        std::lock_guard held(lock_);
        return isFinal(current());
    }

    // Sets the status to `outcome` and wakes the waiters, if the status is not final and `mayEnd(status)` is true.
    // Under the lock it calls `publish()`, which stores the data of the outcome, and, if there are listeners,
    // `hand(listeners)`, which may take them. [C1] [C2]
    template <class MayEnd, class Publish, class Hand>
    EndDuty end(Status outcome, MayEnd mayEnd, Publish publish, Hand hand) {
        typename Waiters::Woken woken;
        EndDuty duty = EndDuty::none;
        {
            std::lock_guard held(lock_);
            const Status now = current();
            if (isFinal(now) || !mayEnd(now)) return EndDuty::refused;
            publish();
            status_.store(outcome, std::memory_order_release);  // [C1]
            woken = waiters_.claimAll();                        // [C2]
            if (!listeners_.empty()) {
                hand(listeners_);
                duty = EndDuty::callListeners;
            }
        }  // the last use of this object, if there are no listeners [C3]
        woken.resume();
        return duty;
    }
    // Changes the status from `from` to `to`, neither of which is final. Returns the previous status; if that was not
    // `from`, nothing has changed.
    Status advance(Status from, Status to) noexcept {
        std::lock_guard held(lock_);
        const Status now = current();
        if (now == from) status_.store(to, std::memory_order_relaxed);  // no data is published with it
        return now;
    }

    // Adds a listener. False: the status is final, and the caller must call the listener itself. [C2]
    [[nodiscard]] bool listen(Listener& listener) {
        std::lock_guard held(lock_);
        if (isFinal(current())) return false;
        listeners_.append(std::move(listener));
        return true;
    }

    // Waits until the status is final; then returns no error, and settled() is true. Errors: as
    // BasicWaitList::waitUntil(). [C2]
    template <class Deadline>
    auto wait(Deadline deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return isFinal(current()); });
    }

    // The halves of a wait, for a caller that waits for several things: as BasicWaitList::enlist(). [C2]
    template <class Waiter>
    [[nodiscard]] bool enlist(Waiter& waiter) {
        return waiters_.enlist(lock_, waiter, [this] { return isFinal(current()); });
    }
    template <class Waiter>
    void withdraw(Waiter& waiter) {
        waiters_.withdraw(lock_, waiter);
    }

  protected:
    // relaxed: written only under the lock, which the caller holds.
    Status current() const noexcept { return status_.load(std::memory_order_relaxed); }

    mutable typename P::Mutex lock_;
    Listeners listeners_;
    Waiters waiters_;
    typename P::template Atomic<Status> status_{Status{}};
};

// A Completion that calls its listeners one at a time, in the order in which they were added, including listeners that
// are added after the end. "Telling" is calling the listeners. [C4]
template <class P, auto firstFinal, class Listener, class Waiters>
class BasicOrderedCompletion : public BasicCompletion<P, firstFinal, Listener, Waiters> {
  public:
    using typename BasicCompletion<P, firstFinal, Listener, Waiters>::Listeners;

    // Adds a listener after all others. True if the status is final: the caller must then call beginNotifying().
    [[nodiscard]] bool append(Listener listener) {
        std::lock_guard held(this->lock_);
        this->listeners_.append(std::move(listener));
        return this->isFinal(this->current());
    }
    // True: the caller must call the listeners in `batch`, then keepNotifying(). False: there are no listeners, or
    // another thread is telling and will call them.
    [[nodiscard]] bool beginNotifying(Listeners& batch) noexcept {
        std::lock_guard held(this->lock_);
        if (notifying_ || this->listeners_.empty()) return false;
        batch.takeFrom(this->listeners_);
        return notifying_ = true;
    }
    // True: as beginNotifying(). False: no listeners were added meanwhile; the thread that appends the next one tells
    // it.
    [[nodiscard]] bool keepNotifying(Listeners& batch) noexcept {
        std::lock_guard held(this->lock_);
        batch.takeFrom(this->listeners_);
        return notifying_ = !batch.empty();
    }

  private:
    bool notifying_ = false;
};

}  // namespace weft::detail
