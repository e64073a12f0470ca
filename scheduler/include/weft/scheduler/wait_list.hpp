// WaitList: fibers and threads that wait for a condition that a mutex guards.
#pragma once

#include <mutex>
#include <utility>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft {

// The mutex belongs to the owner of the list; nothing suspends while it is held. Nodes live on the waiters' stacks, so
// the list never allocates. Wait is Suspension, or the model explorer's equivalent. docs/explanation/protocol.md
// section 10.
template <class Wait>
class BasicWaitList {
    struct Node;

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

    // As waitUntil(), but only `ready()` ends the wait: see Suspension::parkUninterruptibly().
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

    // Waiters whose waits have been ended, but which do not run until resume().
    class Woken {
      public:
        // Makes the waiters runnable, in the order in which they began to wait. Context: any thread, after unlocking
        // the mutex, so that neither the waiters nor other users of the mutex are blocked during the enqueues.
        void resume() noexcept {
            while (Node* node = first_) {
                first_ = node->next;
                const Key key = node->key;  // a copy: the node is destroyed once its waiter runs
                key.enqueue();
            }
        }

      private:
        friend class BasicWaitList;
        Node* first_ = nullptr;
    };

    // Ends the wait of every waiter. Context: any thread that holds the mutex; it must unlock the mutex before it calls
    // resume() on the result. [C2]
    [[nodiscard]] Woken claimAll() noexcept {
        Woken woken;
        Node* last = nullptr;
        while (Node* node = first_) {
            unlink(*node);
            if (node->key.claim() != detail::Claim::enqueue) continue;  // it runs; its node may be gone after unlock
            node->next = nullptr;
            (last ? last->next : woken.first_) = node;
            last = node;
        }
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
