// InTray: an intrusive stack that any thread pushes to and that a taker empties at once (SCH-4). A push never waits or
// allocates; a taker never waits for a preempted producer. docs/explanation/protocol.md section 4.
#pragma once

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// The default link of a tray: the one that the run queues use, too.
struct QueueLink {
    static auto& of(auto& node) noexcept { return node.next; }
};

// Link::of(node) is the node's pointer to the next node, by default its member `next`. A closed tray stays closed.
template <class P, class Node, class Link = QueueLink>
class BasicInTray {
  public:
    // Any thread. False if the tray is closed: the caller keeps the node. The seq_cst RMW is the first half of [K1].
    [[nodiscard]] bool push(Node& node) noexcept {
        Node* top = top_.load(std::memory_order_relaxed);  // a hint; the CAS decides
        do {
            if (top == closedMark()) return false;
            Link::of(node) = top;
        } while (!top_.compare_exchange_weak(top, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
        return true;
    }

    // Takes everything, linked oldest first, or null. Context: the thread that closes the tray. [Q1]
    Node* takeAll() noexcept { return reversed(takeNewestFirst()); }
    // As takeAll(), but linked newest first, for callers that reverse the list themselves. [Q1]
    Node* takeNewestFirst() noexcept {
        Node* top = top_.load(std::memory_order_relaxed);
        if (top == nullptr || top == closedMark()) return nullptr;
        return top_.exchange(nullptr, std::memory_order_acquire);
    }

    // As takeAll(), for every other thread. A compare-exchange, because an exchange could take the mark of a tray that
    // was emptied and closed after the load. A failure means that another thread has pushed or taken. [Q1]
    Node* stealAll() noexcept {
        Node* top = top_.load(std::memory_order_relaxed);  // the compare-exchange decides
        while (top != nullptr && top != closedMark()) {
            if (top_.compare_exchange_weak(top, nullptr, std::memory_order_acquire,  // [Q1]
                                           std::memory_order_relaxed)) {
                return reversed(top);
            }
        }
        return nullptr;
    }

    // Used for the check before a sleep: seq_cst, the second half of [K3].
    bool empty() const noexcept {
        Node* top = top_.load(std::memory_order_seq_cst);
        return top == nullptr || top == closedMark();
    }

    // Closes an empty tray, so that every later push fails; false if the tray is not empty. [Q2]
    [[nodiscard]] bool closeIfEmpty() noexcept {
        Node* expected = nullptr;
        return top_.compare_exchange_strong(expected, closedMark(), std::memory_order_acq_rel,
                                            std::memory_order_relaxed) ||
               expected == closedMark();
    }

    // Closes the tray and takes everything in it, linked oldest first. [Q2]
    Node* close() noexcept { return reversed(closeNewestFirst()); }
    Node* closeNewestFirst() noexcept {
        Node* top = top_.exchange(closedMark(), std::memory_order_acquire);  // [Q1] [Q2]
        return top == closedMark() ? nullptr : top;
    }
    // Any thread: true once the tray is closed. relaxed: closing is final, and no data is read because of it.
    bool closed() const noexcept { return top_.load(std::memory_order_relaxed) == closedMark(); }

  private:
    Node* closedMark() const noexcept {
        return reinterpret_cast<Node*>(const_cast<BasicInTray*>(this));  // an address that no node has
    }
    static Node* reversed(Node* top) noexcept {
        Node* oldest = nullptr;
        while (top) {
            Node* below = Link::of(*top);
            Link::of(*top) = oldest;
            oldest = top;
            top = below;
        }
        return oldest;
    }

    typename P::template Atomic<Node*> top_{nullptr};
};

}  // namespace weft::detail
