// StealableQueue: the lane of a carrier's queue that other carriers steal from (SCH-4). As BasicRunQueue, but thieves
// can reach every task in it, which costs the owner two uncontended RMWs per task. docs/explanation/protocol.md section
// 11, docs/adr/0002.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <weft/scheduler/detail/in_tray.hpp>
#include <weft/scheduler/detail/least.hpp>

namespace weft::detail {

// The result of a steal.
enum class [[nodiscard]] StealResult : std::uint8_t{
    nothing,
    taken,       // the thief's queue has received tasks
    handedBack,  // as taken, and the victim has received tasks back: the thief must wake the victim's carrier [K1]
};

// In the order in which the owner runs them: a ring, a backlog (a list that did not fit into the ring or that a thief
// has handed back), and an in-tray. Unbounded; never allocates; no thread waits for another. FIFO for each submitter
// while nothing is stolen; tasks that a thief hands back may come after tasks submitted later. Node has a member
// `Node* next`.
template <class P, class Node, std::uint32_t capacity = 256>
class BasicStealableQueue {
    static_assert((capacity & (capacity - 1)) == 0, "the ring is indexed by masking");

  public:
    // Any thread; false if the queue is closed.
    [[nodiscard]] bool submit(Node& node) noexcept { return inTray_.push(node); }

    // Any thread: true if there are tasks to steal. Finds every task that was there before the caller's last seq_cst
    // operation, in the order of these operations, and still is. May also be true for tasks that have been taken. [D4]
    bool hasStealable() const noexcept {
        const Index tail = tail_.load(std::memory_order_seq_cst);  // [D4]
        return head_.load(std::memory_order_relaxed) != tail ||    // a stale head shows too many tasks
               isList(backlog_.load(std::memory_order_seq_cst)) || !inTray_.empty();  // [D4]
    }

    // The owner of this queue: takes up to half (rounded up), and at most `most`, of the tasks in the victim's ring, or
    // if that is empty, in its backlog or else its in-tray. It takes such a list as a whole and hands the rest back; if
    // the victim's backlog is in use or closed, it keeps the rest.
    StealResult stealFrom(BasicStealableQueue& victim, std::uint32_t stamp = 0,
                          std::uint32_t most = capacity) noexcept {
        if (claimFrom(victim, stamp, most)) return StealResult::taken;
        Node* list = victim.takeBacklog();
        if (list == nullptr) list = victim.inTray_.stealAll();
        if (list == nullptr) return StealResult::nothing;
        Node* rest = keepHalf(list, stamp, most);
        if (rest == nullptr) return StealResult::taken;
        Node* none = nullptr;
        if (victim.backlog_.compare_exchange_strong(none, rest, std::memory_order_seq_cst,  // [H3] [K1]
                                                    std::memory_order_relaxed)) {
            return StealResult::handedBack;
        }
        accept(rest, stamp);
        return StealResult::taken;
    }

    // Context of everything below: the owner. Queues a task after everything that the owner has taken over so far.
    void push(Node& node, std::uint32_t stamp = 0) noexcept {
        const Index tail = tail_.load(std::memory_order_relaxed);  // only the owner writes it
        if (!overflowed_ && backlog_.load(std::memory_order_relaxed) == nullptr &&
            tail - head_.load(std::memory_order_acquire) < capacity) {  // [H2] thieves have read what they claimed
            put(tail, &node, stamp);
            publish(tail + 1);
        } else {
            overflowed_ = true;        // later pushes follow it into the in-tray
            (void)inTray_.push(node);  // succeeds: the owner does not push to a closed queue
        }
    }

    // Takes over submitted tasks and queues them last, unless there is a backlog. True if it has moved tasks.
    bool takeSubmitted(std::uint32_t stamp = 0) noexcept {
        if (backlog_.load(std::memory_order_relaxed) != nullptr) return false;
        overflowed_ = false;
        Node* list = inTray_.takeAll();
        if (list == nullptr) return false;
        accept(list, stamp);
        return true;
    }

    // The oldest task, or null. Does not take from the in-tray.
    Node* pop() noexcept {
        return popIf([](std::uint32_t) { return true; }, 0);
    }
    // As pop(), but null unless due(stamp of the oldest task). Tasks from the backlog get the stamp `now`. A failed
    // compare-exchange means that a thief has taken tasks: at most `capacity` fail in a row.
    template <class Due>
    Node* popIf(Due due, std::uint32_t now) noexcept {
        Index head = head_.load(std::memory_order_relaxed);  // a stale value fails the compare-exchange
        for (;;) {
            if (head == tail_.load(std::memory_order_relaxed)) {
                if (!refill(now)) return nullptr;
                head = head_.load(std::memory_order_relaxed);
                continue;
            }
            if (!due(stamps_[head & (capacity - 1)])) return nullptr;
            Node* node = slot(head).load(std::memory_order_relaxed);  // the owner's own store
            // relaxed: only the number is published to thieves. [H2]
            if (head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
                return node;
            }
        }
    }

    // True if a pop() since the last call has moved tasks, which were invisible meanwhile: the first half of [D4].
    bool takeRefilled() noexcept { return std::exchange(refilled_, false); }

    // True if no task is queued and, by seq_cst loads [K3], none has been handed back or submitted.
    bool empty() const noexcept {
        return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed) &&
               !isList(backlog_.load(std::memory_order_seq_cst)) && inTray_.empty();  // [K3]
    }
    // Number of tasks in the ring.
    std::size_t depth() const noexcept {
        return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
    }

    // Closes an empty queue: later submissions fail, and thieves keep the tasks that they would hand back. [Q2] [H4]
    [[nodiscard]] bool closeIfEmpty() noexcept {
        if (!empty()) return false;
        Node* seen = nullptr;
        // relaxed: no data is published with the mark, and null was stored by a thread that had taken everything.
        if (!backlog_.compare_exchange_strong(seen, closedMark(), std::memory_order_relaxed,  // [H4]
                                              std::memory_order_relaxed) &&
            seen != closedMark()) {
            return false;
        }
        if (inTray_.closeIfEmpty()) return true;
        backlog_.store(nullptr, std::memory_order_relaxed);  // open again; only the owner removes the mark
        return false;
    }

  private:
    // Wide enough that no value repeats while a thief is preempted between its load and its claim.
    using Index = std::uint64_t;

    Node* closedMark() const noexcept {
        return reinterpret_cast<Node*>(const_cast<BasicStealableQueue*>(this));  // an address that no node has
    }
    bool isList(Node* backlog) const noexcept { return backlog != nullptr && backlog != closedMark(); }
    auto& slot(Index index) noexcept { return ring_[index & (capacity - 1)]; }
    void put(Index index, Node* node, std::uint32_t stamp) noexcept {
        slot(index).store(node, std::memory_order_relaxed);  // published by the tail
        stamps_[index & (capacity - 1)] = stamp;
    }
    // An RMW, so that the load of the idle set comes after it.
    void publish(Index tail) noexcept { tail_.exchange(tail, std::memory_order_seq_cst); }  // [H1] [D4]

    // Copies up to half of the victim's ring to this ring's tail, then claims it. If slots were overwritten meanwhile,
    // the claim fails.
    bool claimFrom(BasicStealableQueue& victim, std::uint32_t stamp, std::uint32_t most) noexcept {
        const Index tail = tail_.load(std::memory_order_relaxed);  // only the owner writes it
        const Index room = least<Index>(most, capacity - (tail - head_.load(std::memory_order_acquire)));  // [H2]
        Index head = victim.head_.load(std::memory_order_relaxed);  // the compare-exchange decides
        for (;;) {
            const Index size = victim.tail_.load(std::memory_order_acquire) - head;  // [H1]
            const Index count = least(size - size / 2, room);
            if (count == 0) return false;
            if (size > capacity) {  // head or tail was stale
                head = victim.head_.load(std::memory_order_relaxed);
                continue;
            }
            for (Index i = 0; i < count; ++i) {
                put(tail + i, victim.slot(head + i).load(std::memory_order_relaxed), stamp);
            }
            if (victim.head_.compare_exchange_weak(head, head + count, std::memory_order_release,  // [H2]
                                                   std::memory_order_relaxed)) {
                publish(tail + count);
                return true;
            }
        }
    }

    // Moves up to half of a list, which no other thread can reach, into the ring; returns the rest.
    Node* keepHalf(Node* list, std::uint32_t stamp, std::uint32_t most) noexcept {
        Index tail = tail_.load(std::memory_order_relaxed);  // only the owner writes it
        const Index end = least(tail + most, head_.load(std::memory_order_acquire) + capacity);  // [H2]
        for (Node* twiceAsFar = list; twiceAsFar != nullptr && tail != end;) {
            twiceAsFar = twiceAsFar->next;
            if (twiceAsFar != nullptr) twiceAsFar = twiceAsFar->next;
            put(tail++, list, stamp);
            list = list->next;
        }
        publish(tail);
        return list;
    }

    // Moves a list into the ring, and what does not fit into the backlog.
    void accept(Node* list, std::uint32_t stamp) noexcept {
        Index tail = tail_.load(std::memory_order_relaxed);                  // only the owner writes it
        const Index end = head_.load(std::memory_order_acquire) + capacity;  // [H2]
        for (; list != nullptr && tail != end; list = list->next) put(tail++, list, stamp);
        publish(tail);
        if (list != nullptr) putBacklog(list);
    }
    void putBacklog(Node* list) noexcept {
        Node* none = nullptr;
        while (!backlog_.compare_exchange_strong(none, list, std::memory_order_seq_cst,  // [H3] [D4]
                                                 std::memory_order_relaxed)) {
            // A thief has handed tasks back meanwhile, most likely older ones.
            if (Node* older = takeBacklog()) list = joined(older, list);
            none = nullptr;
        }
    }
    Node* takeBacklog() noexcept {
        Node* list = backlog_.load(std::memory_order_relaxed);
        if (!isList(list)) return nullptr;
        const bool taken = backlog_.compare_exchange_strong(list, nullptr, std::memory_order_acquire,  // [H3]
                                                            std::memory_order_relaxed);
        return taken ? list : nullptr;  // null: another thread has taken it
    }
    bool refill(std::uint32_t stamp) noexcept {
        Node* list = takeBacklog();
        if (list == nullptr) return false;
        accept(list, stamp);
        refilled_ = true;
        return true;
    }
    static Node* joined(Node* first, Node* second) noexcept {
        Node* last = first;
        while (Node* next = last->next) last = next;
        last->next = second;
        return first;
    }

    alignas(cacheLine) BasicInTray<P, Node> inTray_;                   // any thread
    alignas(cacheLine) typename P::template Atomic<Index> head_{0};    // owner, thieves: compare-exchange
    typename P::template Atomic<Node*> backlog_{nullptr};              // owner, thieves
    alignas(cacheLine) typename P::template Atomic<Index> tail_{0};    // owner
    bool overflowed_ = false;                                          // owner: it has pushed tasks to the in-tray
    bool refilled_ = false;                                            // owner
    std::array<std::uint32_t, capacity> stamps_;                       // owner: the stamps given to push()
    std::array<typename P::template Atomic<Node*>, capacity> ring_{};  // owner
};

}  // namespace weft::detail
