// Completions and counts with one defect each; the scenarios of completion must detect it.
#include "completion_scenarios.hpp"

namespace weft::model {
namespace {

using namespace completion;

enum class Defect {
    none,
    publishesLate,   // the status before the value
    endsBlindly,     // does not check whether it has already completed
    listensBlindly,  // checks only before it takes the lock
    waitsBlindly,    // as well
    wakesOutside,    // wakes the waiters after it has released the lock
    takesOutside,    // takes the listeners after it has released the lock
    tellsTogether,   // does not check whether another thread is notifying
    stopsBlindly,    // checks for more listeners, then marks the notification as finished
    countsByStore,   // a load and a store instead of the read-modify-write
    countsRelaxed,   // the last reference is released without an order
};

// A copy of the completion in which one thing can be wrong.
template <Defect defect>
class TwinCompletion {
  public:
    using Listeners = detail::ListenerList<Listener>;

    static bool isFinal(Status status) { return status >= Status::done; }
    Status status() const { return status_.load(std::memory_order_acquire); }
    bool settled() const {
        std::lock_guard held(lock_);
        return isFinal(status());
    }
    template <class MayEnd, class Publish, class Hand>
    EndDuty end(Status outcome, MayEnd mayEnd, Publish publish, Hand hand) {
        EndDuty duty = EndDuty::none;
        {
            std::lock_guard held(lock_);
            const Status now = status();
            if (defect != Defect::endsBlindly && (isFinal(now) || !mayEnd(now))) return EndDuty::refused;
            if (defect != Defect::publishesLate) publish();
            status_.store(outcome, std::memory_order_release);
            if (defect == Defect::publishesLate) publish();
            if (defect != Defect::wakesOutside) waiters_.wakeAll();
            if (!listeners_.empty()) duty = EndDuty::callListeners;
            if (defect != Defect::takesOutside && duty == EndDuty::callListeners) hand(listeners_);
        }
        if (defect == Defect::wakesOutside) waiters_.wakeAll();
        if (defect == Defect::takesOutside) {
            std::lock_guard held(lock_);
            hand(listeners_);
        }
        return duty;
    }
    Status advance(Status from, Status to) {
        std::lock_guard held(lock_);
        const Status now = status();
        if (now == from) status_.store(to, std::memory_order_release);
        return now;
    }
    bool listen(Listener& listener) {
        if (defect == Defect::listensBlindly && isFinal(status())) return false;
        std::lock_guard held(lock_);
        if (defect != Defect::listensBlindly && isFinal(status())) return false;
        listeners_.append(std::move(listener));
        return true;
    }
    ErrorCode wait(Timeout limit, const char* call) {
        bool blind = defect == Defect::waitsBlindly && !isFinal(status());
        return waiters_.waitUntil(lock_, limit, call,
                                  [&] { return !std::exchange(blind, false) && isFinal(status()); });
    }
    bool append(Listener listener) {
        std::lock_guard held(lock_);
        listeners_.append(std::move(listener));
        return isFinal(status());
    }
    bool beginNotifying(Listeners& batch) {
        std::lock_guard held(lock_);
        if ((defect != Defect::tellsTogether && notifying_) || listeners_.empty()) return false;
        batch.takeFrom(listeners_);
        return notifying_ = true;
    }
    bool keepNotifying(Listeners& batch) {
        {
            std::lock_guard held(lock_);
            batch.takeFrom(listeners_);
            if (defect != Defect::stopsBlindly) return notifying_ = !batch.empty();
        }
        if (!batch.empty()) return true;
        std::lock_guard held(lock_);
        return notifying_ = false;
    }

  private:
    mutable Mutex lock_;
    Atomic<Status> status_{Status::pending};
    Listeners listeners_;
    WaitList waiters_;
    bool notifying_ = false;
};

template <Defect defect>
class TwinCount {
  public:
    void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
    bool release() {
        if (defect == Defect::countsByStore) {
            const std::uint32_t before = count_.load(std::memory_order_acquire);
            count_.store(before - 1, std::memory_order_release);
            return before == 1;
        }
        if (defect == Defect::countsRelaxed) return count_.fetch_sub(1, std::memory_order_relaxed) == 1;
        return count_.load(std::memory_order_acquire) == 1 || count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

  private:
    Atomic<std::uint32_t> count_{1};
};

enum class WaitDefect {
    none,
    collectsOnly,      // unlinks under the lock, claims after it
    resumesTheAwake,   // enqueues waiters that were not switched out
    readsAfterResume,  // the link of a node whose waiter runs again
};

// A copy of the wait list in which one thing can be wrong.
template <WaitDefect defect>
class TwinWaitList {
    struct Node {
        explicit Node(ThreadWait::Key key) : key(key) {}
        ThreadWait::Key key;
        Plain<Node*> next{nullptr};
        bool linked = true;
    };

  public:
    class Woken {
      public:
        void resume() {
            for (Node* node = std::exchange(first_, nullptr); node != nullptr;) {
                Node* next = defect == WaitDefect::readsAfterResume ? nullptr : node->next.get();
                const ThreadWait::Key key = node->key;
                if (defect == WaitDefect::collectsOnly) {
                    (void)key.wake();
                } else {
                    key.enqueue();
                }
                node = defect == WaitDefect::readsAfterResume ? node->next.get() : next;
            }
        }
        Node* first_ = nullptr;
    };

    ErrorCode waitUntil(Mutex& mutex, Timeout limit, const char* call, auto ready) {
        std::unique_lock lock(mutex);
        while (!ready()) {
            ThreadWait wait(call);
            Node node(wait.key());
            node.next = first_;
            first_ = &node;
            lock.unlock();
            const WakeReason why = wait.park(limit);
            lock.lock();
            if (node.linked) unlink(node);
            if (why != WakeReason::resource && !ready()) return timedOut();
        }
        return {};
    }
    Woken claimAll() {
        Woken woken;
        while (Node* node = first_) {
            unlink(*node);
            if (defect != WaitDefect::collectsOnly) {
                const detail::Claim claim = node->key.claim();
                if (claim == detail::Claim::lost) continue;
                if (claim == detail::Claim::early && defect != WaitDefect::resumesTheAwake) continue;
            }
            node->next = woken.first_;
            woken.first_ = node;
        }
        return woken;
    }

  private:
    void unlink(Node& node) {
        node.linked = false;
        if (first_ == &node) {
            first_ = node.next;
            return;
        }
        for (Node* at = first_; at != nullptr; at = at->next) {
            if (at->next.get() == &node) at->next = node.next.get();
        }
    }

    Node* first_ = nullptr;
};

template <WaitDefect defect>
std::vector<Case> brokenWaits() {
    return cases<detail::BasicOrderedCompletion<Atomics, Status::done, Listener, TwinWaitList<defect>>>();
}

TEST(CompletionModel, TheTwinOfTheWaitListWithoutADefectPasses) {
    exploreAll("completion (twin of the wait list)", brokenWaits<WaitDefect::none>(), {.executions = 50'000});
}
TEST(CompletionModel, AWaiterThatIsOnlyUnlinkedUnderTheLockIsWokenAfterItsEnd) {
    expectKilled("collects only", only("awaits, timeout", brokenWaits<WaitDefect::collectsOnly>()));
}
TEST(CompletionModel, AWaiterThatWasNotSwitchedOutIsNotEnqueued) {
    expectKilled("resumes the awake", only("awaits", brokenWaits<WaitDefect::resumesTheAwake>()));
}
TEST(CompletionModel, ANodeIsNotReadAfterItsWaiterRuns) {
    expectKilled("reads after the resume", only("awaits", brokenWaits<WaitDefect::readsAfterResume>()));
}

template <Defect defect>
std::vector<Case> broken() {
    return cases<TwinCompletion<defect>, TwinCount<defect>>();
}
template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, broken<defect>()));
}

TEST(CompletionModel, TheTwinWithoutADefectPasses) {
    exploreAll("completion (twin)", broken<Defect::none>(), {.executions = 50'000});
}
TEST(CompletionModel, AStatusBeforeItsValueIsSeenTooEarly) {
    expectKilledIn<Defect::publishesLate>("publishes late", "looks");
}
TEST(CompletionModel, CompletingWithoutACheckCompletesTwice) {
    expectKilledIn<Defect::endsBlindly>("ends blindly", "two end it");
}
TEST(CompletionModel, AListenerThatChecksOnlyBeforeTheLockIsForgotten) {
    expectKilledIn<Defect::listensBlindly>("listens blindly", "listens");
}
TEST(CompletionModel, AWaiterThatChecksOnlyBeforeTheLockSleepsForEver) {
    expectKilledIn<Defect::waitsBlindly>("waits blindly", "awaits");
}
TEST(CompletionModel, AWaiterWokenOutsideTheLockIsWokenAfterItsEnd) {
    expectKilledIn<Defect::wakesOutside>("wakes outside", "awaits, timeout");
}
TEST(CompletionModel, ListenersTakenOutsideTheLockAreGone) {
    expectKilledIn<Defect::takesOutside>("takes outside", "borrowed");
}
TEST(CompletionModel, ListenersNotifiedByTwoThreadsLoseTheirOrder) {
    expectKilledIn<Defect::tellsTogether>("tells together", "ordered");
}
TEST(CompletionModel, StoppingTheNotificationWithoutACheckForgetsAListener) {
    expectKilledIn<Defect::stopsBlindly>("stops blindly", "ordered");
}
TEST(CompletionModel, ACountByStoreFreesTwiceOrNever) {
    expectKilledIn<Defect::countsByStore>("counts by store", "listens");
}
TEST(CompletionModel, ALastReferenceWithoutAnOrderIsFreedTooEarly) {
    expectKilledIn<Defect::countsRelaxed>("counts relaxed", "awaits");
}

}  // namespace
}  // namespace weft::model
