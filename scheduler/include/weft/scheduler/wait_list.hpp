// WaitList: the fibers and threads that wait for a condition guarded by a mutex.
#pragma once

#include <mutex>
#include <utility>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft {

// The mutex is the owner's; nothing suspends while it is held. Nodes live on the waiters' stacks: no allocation.
// Wait: Suspension; the model explorer has one of its own. docs/protocol.md section 10.
template <class Wait>
class BasicWaitList {
    struct Node;

  public:
    BasicWaitList() = default;
    BasicWaitList(const BasicWaitList&) = delete;
    BasicWaitList& operator=(const BasicWaitList&) = delete;

    // Waits until `ready()` (called under the lock) is true. Returns no error then; timedOut() when the deadline passed
    // first; operationAborted() when the fiber is cancelled or its carrier shuts down. When it is true at once nothing
    // blocks, wherever the caller is; otherwise throws BlockingOperationException naming `call` where nothing may
    // block.
    template <class Mutex, class Until, class Ready>
    ErrorCode waitUntil(Mutex& mutex, Until deadline, const char* call, Ready ready) {
        std::unique_lock lock(mutex);
        comeHome(lock, call, ready);
        while (!ready()) {
            Wait wait(call);
            Node node{wait.key()};
            link(node);
            lock.unlock();
            const WakeReason why = wait.park(deadline);
            lock.lock();
            unlink(node);
            if (why != WakeReason::resource && !ready()) return errorOf(why);
        }
        return {};
    }

    // As waitUntil(), but nothing except `ready()` ends it: Suspension::parkUninterruptibly().
    template <class Mutex, class Ready>
    void waitUninterruptibly(Mutex& mutex, const char* call, Ready ready) {
        std::unique_lock lock(mutex);
        comeHome(lock, call, ready);
        while (!ready()) {
            Wait wait(call);
            Node node{wait.key()};
            link(node);
            lock.unlock();
            static_cast<void>(wait.parkUninterruptibly());
            lock.lock();
            unlink(node);
        }
    }

    // Waiters whose waits have been ended and that do not run before resume().
    class Woken {
      public:
        // Makes them runnable, in the order in which they came. Context: any thread; without the mutex, so that
        // neither those who want it nor the waiters wait for the enqueues.
        void resume() noexcept {
            while (Node* node = first_) {
                first_ = node->next;
                const Key key = node->key;  // the node goes when its waiter runs
                key.enqueue();
            }
        }

      private:
        friend class BasicWaitList;
        Node* first_ = nullptr;
    };

    // Ends the wait of every waiter. Context: any thread, holding the mutex, which it lets go of before it calls
    // resume() on the result. [C2]
    [[nodiscard]] Woken claimAll() noexcept {
        Woken woken;
        Node* last = nullptr;
        while (Node* node = first_) {
            unlink(*node);
            if (node->key.claim() != detail::Claim::enqueue) continue;  // it runs; it may already be gone when we unlock
            node->next = nullptr;
            (last ? last->next : woken.first_) = node;
            last = node;
        }
        return woken;
    }
    // Both at once. Context: any thread, holding the mutex.
    void wakeAll() noexcept { claimAll().resume(); }

    // `change()` of what `ready()` looks at, under the mutex; then every waiter looks again, after it: a waiter that
    // ran before would sleep once more for the mutex. An exception of change() goes to the caller and wakes nobody.
    // Context: any thread, not holding the mutex.
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
    // A fiber that is to wait and runs away from its home goes there first, without the mutex: then the wait is prepared under it
    // without a switch.
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

    using Key = decltype(std::declval<Wait&>().key());
    struct Node {
        explicit Node(Key key) noexcept : key(key) {}
        Key key;
        Node* previous = nullptr;
        Node* next = nullptr;
        bool linked = false;
    };

    void link(Node& node) noexcept {
        node.previous = last_;
        (last_ ? last_->next : first_) = &node;
        last_ = &node;
        node.linked = true;
    }
    void unlink(Node& node) noexcept {
        if (!node.linked) return;
        (node.previous ? node.previous->next : first_) = node.next;
        (node.next ? node.next->previous : last_) = node.previous;
        node.linked = false;
    }
    static ErrorCode errorOf(WakeReason why) noexcept {
        return why == WakeReason::timeout ? timedOut() : operationAborted();
    }

    Node* first_ = nullptr;
    Node* last_ = nullptr;
};

using WaitList = BasicWaitList<Suspension>;

}  // namespace weft
