// InTray: an intrusive stack that any thread pushes on and that is taken whole (W4): submission never waits, allocates
// or fails half-way, and a taker never waits for a producer that was pre-empted. docs/protocol.md section 4.
#pragma once

#include <weft/scheduler/detail/atomics.hpp>

namespace weft::detail {

// The link that a tray uses: the one of the run queues.
struct QueueLink {
    static auto& of(auto& node) noexcept { return node.next; }
};

// Link::of(node) is the node's `Node*` to the next one, by default its member `next`. Closing is final.
template <class P, class Node, class Link = QueueLink>
class BasicInTray {
  public:
    // Any thread. False when closed: the node is still the caller's. The seq_cst RMW is the first half of [K1].
    [[nodiscard]] bool push(Node& node) noexcept {
        Node* top = top_.load(std::memory_order_relaxed);  // a hint; the CAS decides
        do {
            if (top == closedMark()) return false;
            Link::of(node) = top;
        } while (!top_.compare_exchange_weak(top, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
        return true;
    }

    // Takes everything, oldest first, or null. Context: the only one who closes the tray. [Q1]
    Node* takeAll() noexcept { return reversed(takeNewestFirst()); }
    // As takeAll(), in the order in which it lies there; for callers that turn it around themselves. [Q1]
    Node* takeNewestFirst() noexcept {
        Node* top = top_.load(std::memory_order_relaxed);
        if (top == nullptr || top == closedMark()) return nullptr;
        return top_.exchange(nullptr, std::memory_order_acquire);
    }

    // As takeAll(), for everybody else: an exchange could take the mark of a tray that has been emptied and closed
    // since the look. One that fails means that somebody has pushed or taken. [Q1]
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

    // The re-check before a sleep: seq_cst, the second half of [K3].
    bool empty() const noexcept {
        Node* top = top_.load(std::memory_order_seq_cst);
        return top == nullptr || top == closedMark();
    }

    // Closes an empty tray, so that every later push fails; false when something is in it. [Q2]
    [[nodiscard]] bool closeIfEmpty() noexcept {
        Node* expected = nullptr;
        return top_.compare_exchange_strong(expected, closedMark(), std::memory_order_acq_rel,
                                            std::memory_order_relaxed) ||
               expected == closedMark();
    }

    // Closes it whatever is in it, and takes that, oldest first. [Q2]
    Node* close() noexcept { return reversed(closeNewestFirst()); }
    Node* closeNewestFirst() noexcept {
        Node* top = top_.exchange(closedMark(), std::memory_order_acquire);  // [Q1] [Q2]
        return top == closedMark() ? nullptr : top;
    }
    // Any thread: true from the close on. relaxed: it is final, and nothing is read on the strength of it.
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
