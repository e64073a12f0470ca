// StealableQueue: the lane of a carrier's queue that others take from (W4). As BasicRunQueue, but all that waits in it is
// within a thief's reach, and the owner pays two uncontended RMWs for each task. docs/protocol.md section 11,
// docs/adr/0002.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// What came of a theft.
enum class [[nodiscard]] Theft : std::uint8_t{
    nothing,
    taken,       // the thief's own queue has more now
    handedBack,  // ... and the victim has some of it back: the thief wakes the victim's carrier [K1]
};

// In the order in which the owner runs it: a ring, a backlog that did not fit into it or that a thief has handed back,
// and an in-tray. Unbounded; never allocates; nobody waits for anybody. FIFO for each submitter as long as nobody
// steals; what a thief hands back may come behind what was submitted after it. Node has a member `Node* next`.
template <class P, class Node, std::uint32_t capacity = 256>
class BasicStealableQueue {
    static_assert((capacity & (capacity - 1)) == 0, "the ring is indexed by masking");

  public:
    // Any thread; false when closed.
    [[nodiscard]] bool submit(Node& node) noexcept { return inTray_.push(node); }

    // Any thread: whether there is something to steal. What was there before the caller's last seq_cst operation, in their
    // order, and is there still, is seen; so is, perhaps, what has gone since. [D4]
    bool hasSpoils() const noexcept {
        const Index tail = tail_.load(std::memory_order_seq_cst);  // [D4]
        return head_.load(std::memory_order_relaxed) != tail ||      // an old head shows too much
               isList(backlog_.load(std::memory_order_seq_cst)) || !inTray_.empty();  // [D4]
    }

    // The owner of this queue: takes up to half of what it finds in the victim's ring, or else in its backlog or
    // in-tray. That list it takes whole, and hands the rest back; what the victim does not want back, it keeps.
    Theft stealFrom(BasicStealableQueue& victim, std::uint32_t stamp = 0) noexcept {
        if (claimFrom(victim, stamp)) return Theft::taken;
        Node* list = victim.takeBacklog();
        if (list == nullptr) list = victim.inTray_.stealAll();
        if (list == nullptr) return Theft::nothing;
        Node* rest = keepHalf(list, stamp);
        if (rest == nullptr) return Theft::taken;
        Node* none = nullptr;
        if (victim.backlog_.compare_exchange_strong(none, rest, std::memory_order_seq_cst,  // [H3] [K1]
                                                    std::memory_order_relaxed)) {
            return Theft::handedBack;
        }
        accept(rest, stamp);
        return Theft::taken;
    }

    // The rest is the owner's. Behind everything that the owner has taken so far.
    void push(Node& node, std::uint32_t stamp = 0) noexcept {
        const Index tail = tail_.load(std::memory_order_relaxed);  // only the owner writes it
        if (!overflowed_ && backlog_.load(std::memory_order_relaxed) == nullptr &&
            tail - head_.load(std::memory_order_acquire) < capacity) {  // [H2] thieves have read what they claimed
            put(tail, &node, stamp);
            publish(tail + 1);
        } else {
            overflowed_ = true;        // those to come go behind it
            (void)inTray_.push(node);  // open: a closed queue's owner has nothing to push
        }
    }

    // Moves what has been submitted behind what is queued, unless that is so much that it has a backlog. True when it has
    // moved something.
    bool takeSubmitted(std::uint32_t stamp = 0) noexcept {
        if (backlog_.load(std::memory_order_relaxed) != nullptr) return false;
        overflowed_ = false;
        Node* list = inTray_.takeAll();
        if (list == nullptr) return false;
        accept(list, stamp);
        return true;
    }

    // The oldest task, or null. Does not look into the in-tray.
    Node* pop() noexcept {
        return popIf([](std::uint32_t) { return true; }, 0);
    }
    // As pop(), if due(its stamp); what comes out of the backlog gets the stamp `now`. A compare-exchange that fails means
    // that a thief has taken some: at most `capacity` fail in a row.
    template <class Due>
    Node* popIf(Due due, std::uint32_t now) noexcept {
        Index head = head_.load(std::memory_order_relaxed);  // an old one fails the compare-exchange
        for (;;) {
            if (head == tail_.load(std::memory_order_relaxed)) {
                if (!refill(now)) return nullptr;
                head = head_.load(std::memory_order_relaxed);
                continue;
            }
            if (!due(stamps_[head & (capacity - 1)])) return nullptr;
            Node* node = slot(head).load(std::memory_order_relaxed);  // the owner's own store
            // relaxed: it tells thieves nothing but the number. [H2]
            if (head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed, std::memory_order_relaxed)) {
                return node;
            }
        }
    }

    // Whether a pop() since the last call has moved tasks, which nobody could see meanwhile: the first half of [D4].
    bool takeRefilled() noexcept { return std::exchange(refilled_, false); }

    // Nothing queued and, by seq_cst loads [K3], nothing handed back or submitted.
    bool empty() const noexcept {
        return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed) &&
               !isList(backlog_.load(std::memory_order_seq_cst)) && inTray_.empty();  // [K3]
    }
    // How many tasks wait in the ring.
    std::size_t depth() const noexcept {
        return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
    }

    // Closes an empty queue: later submissions fail, thieves keep what they would hand back. [Q2] [H4]
    [[nodiscard]] bool closeIfEmpty() noexcept {
        if (!empty()) return false;
        Node* seen = nullptr;
        // relaxed: the mark carries nothing, and null was the store of one who had taken everything.
        if (!backlog_.compare_exchange_strong(seen, closedMark(), std::memory_order_relaxed,  // [H4]
                                              std::memory_order_relaxed) &&
            seen != closedMark()) {
            return false;
        }
        if (inTray_.closeIfEmpty()) return true;
        backlog_.store(nullptr, std::memory_order_relaxed);  // open again; only the owner moves the mark
        return false;
    }

  private:
    // Wide enough never to come again while a thief is pre-empted between its look and its claim.
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
    // An RMW, so that a look at who is idle comes after it.
    void publish(Index tail) noexcept { tail_.exchange(tail, std::memory_order_seq_cst); }  // [H1] [D4]

    // Copies up to half of the victim's ring behind this one's tail, then claims it. What was overwritten meanwhile
    // belongs to a claim that fails.
    bool claimFrom(BasicStealableQueue& victim, std::uint32_t stamp) noexcept {
        const Index tail = tail_.load(std::memory_order_relaxed);                      // only the owner writes it
        const Index room = capacity - (tail - head_.load(std::memory_order_acquire));  // [H2]
        Index head = victim.head_.load(std::memory_order_relaxed);                     // the compare-exchange decides
        for (;;) {
            const Index size = victim.tail_.load(std::memory_order_acquire) - head;  // [H1]
            const Index count = size - size / 2 < room ? size - size / 2 : room;
            if (count == 0) return false;
            if (size > capacity) {  // one of the two is too old
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

    // Moves up to half of a list that nobody else can reach into the ring; returns the rest.
    Node* keepHalf(Node* list, std::uint32_t stamp) noexcept {
        Index tail = tail_.load(std::memory_order_relaxed);                  // only the owner writes it
        const Index end = head_.load(std::memory_order_acquire) + capacity;  // [H2]
        for (Node* twiceAsFar = list; twiceAsFar != nullptr && tail != end;) {
            twiceAsFar = twiceAsFar->next;
            if (twiceAsFar != nullptr) twiceAsFar = twiceAsFar->next;
            put(tail++, list, stamp);
            list = list->next;
        }
        publish(tail);
        return list;
    }

    // Into the ring what fits, the rest into the backlog.
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
            // A thief has handed something back meanwhile, most likely the older.
            if (Node* older = takeBacklog()) list = joined(older, list);
            none = nullptr;
        }
    }
    Node* takeBacklog() noexcept {
        Node* list = backlog_.load(std::memory_order_relaxed);
        if (!isList(list)) return nullptr;
        const bool taken = backlog_.compare_exchange_strong(list, nullptr, std::memory_order_acquire,  // [H3]
                                                            std::memory_order_relaxed);
        return taken ? list : nullptr;  // else somebody else has it
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
    bool overflowed_ = false;                                          // owner: the in-tray has tasks of its own
    bool refilled_ = false;                                            // owner
    std::array<std::uint32_t, capacity> stamps_;                       // owner: what was told at the push
    std::array<typename P::template Atomic<Node*>, capacity> ring_{};  // owner
};

}  // namespace weft::detail
