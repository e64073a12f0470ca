// Completion: a status that ends once, those who sleep until it has, and those who want to be called then: what a
// promise shares with its futures. docs/protocol.md section 10.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// What the caller of end() owes.
enum class [[nodiscard]] EndDuty : std::uint8_t{
    refused,        // it was not open, or might not end so
    none,           // it has ended, nobody listens
    callListeners,  // it has ended
};

// Listeners in the order in which they came. Listener: movable, empty by default, `reset()` empties it.
template <class Listener>
class ListenerList {
  public:
    bool empty() const noexcept { return !first_; }
    // Strong guarantee when memory is short.
    void append(Listener listener) {
        if (empty()) {
            first_ = std::move(listener);
        } else {
            more_.push_back(std::move(listener));
        }
    }
    // Into an empty list.
    void takeFrom(ListenerList& other) noexcept {
        first_ = std::move(other.first_);
        more_.swap(other.more_);
    }
    // Each once, the oldest first; a listener is let go of before the next is called.
    template <class Call>
    void callAll(Call call) {
        if (empty()) return;
        callOne(first_, call);
        for (Listener& listener : more_) callOne(listener, call);
        more_.clear();
    }

  private:
    template <class Call>
    static void callOne(Listener& listener, Call& call) {
        call(listener);
        listener.reset();
    }

    Listener first_;  // nearly every promise has one listener or none: no vector for it
    std::vector<Listener> more_;
};

// The statuses from `firstFinal` on are final; the zero is where it begins. The lock guards everything but the reading
// of the status; nothing is called and nothing suspends while it is held. Waiters: a BasicWaitList.
// Context: any thread that holds a reference for the whole call.
template <class P, auto firstFinal, class Listener, class Waiters>
class BasicCompletion {
  public:
    using Status = decltype(firstFinal);
    using Listeners = ListenerList<Listener>;

    static constexpr bool isFinal(Status status) noexcept { return status >= firstFinal; }

    // When it is final, what was published with it can be read. That does not mean that the one who ended it has
    // done with this object: settled() does. [C1]
    Status status() const noexcept { return status_.load(std::memory_order_acquire); }
    // True when it has ended, and then the one who ended it touches this object no more, unless it has listeners. [C3]
    bool settled() const {
        std::lock_guard held(lock_);
        return isFinal(current());
    }

    // Ends it as `outcome` if it is open and `mayEnd(status)`. Under the lock, `publish()` stores what goes with the
    // outcome, and `hand(listeners)` may take the listeners, if there are any. [C1] [C2]
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
        }  // the last use of this object, if nobody listens [C3]
        woken.resume();
        return duty;
    }
    // From one open status to another; returns the former one, which decides: when it is not `from`, nothing happens.
    Status advance(Status from, Status to) noexcept {
        std::lock_guard held(lock_);
        const Status now = current();
        if (now == from) status_.store(to, std::memory_order_relaxed);  // an open status carries nothing
        return now;
    }

    // Keeps the listener for the one who ends it. False: it has ended, the listener is still the caller's to call. [C2]
    [[nodiscard]] bool listen(Listener& listener) {
        std::lock_guard held(lock_);
        if (isFinal(current())) return false;
        listeners_.append(std::move(listener));
        return true;
    }

    // Sleeps until it has ended, or gives up for the reason returned, as BasicWaitList::waitUntil(). After it,
    // settled() is true. [C2]
    template <class Deadline>
    auto wait(Deadline deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return isFinal(current()); });
    }

  protected:
    // relaxed: it is written under the lock only.
    Status current() const noexcept { return status_.load(std::memory_order_relaxed); }

    mutable typename P::Mutex lock_;
    typename P::template Atomic<Status> status_{Status{}};
    Listeners listeners_;
    Waiters waiters_;
};

// ... whose listeners are called by one thread at a time in the order in which they came, also those that come late.
// [C4]
template <class P, auto firstFinal, class Listener, class Waiters>
class BasicOrderedCompletion : public BasicCompletion<P, firstFinal, Listener, Waiters> {
  public:
    using typename BasicCompletion<P, firstFinal, Listener, Waiters>::Listeners;

    // Behind all others. True when it has ended: then the caller sees to it that somebody tells.
    [[nodiscard]] bool append(Listener listener) {
        std::lock_guard held(this->lock_);
        this->listeners_.append(std::move(listener));
        return this->isFinal(this->current());
    }
    // True: the caller calls these, then asks keepTelling(). False: nobody waits to be told, or another thread is at
    // it and takes them, too.
    [[nodiscard]] bool beginTelling(Listeners& batch) noexcept {
        std::lock_guard held(this->lock_);
        if (telling_ || this->listeners_.empty()) return false;
        batch.takeFrom(this->listeners_);
        return telling_ = true;
    }
    // False: no more came. A later one is told by whoever appends it.
    [[nodiscard]] bool keepTelling(Listeners& batch) noexcept {
        std::lock_guard held(this->lock_);
        batch.takeFrom(this->listeners_);
        return telling_ = !batch.empty();
    }

  private:
    bool telling_ = false;
};

}  // namespace weft::detail
