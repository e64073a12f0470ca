// LiveList: the tasks of one home, from their submission to their end, wherever they run meanwhile. The home's end and
// its shutdown go by this list. docs/protocol.md section 13.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Intrusive, doubly linked; only the home's thread touches the links. Other threads leave what begins and what has ended
// elsewhere in two trays, which the home empties every turn. Node has members `Node* nextLive` and `Node* previousLive`;
// the tray of departures uses the link of the run queue, in which an ended task is no more: `QueueNode* next` of
// QueueNode, a base of Node or itself.
template <class P, class Node, class QueueNode = Node>
class BasicLiveList {
  public:
    // Home: a task that the home's own thread submits.
    void add(Node& node) noexcept {
        link(node);
    }
    // Any other thread, before it submits the task [L1]. False: the home has ended and takes none; the node is still the
    // caller's. After true the home cannot end before the task has.
    [[nodiscard]] bool enlist(Node& node) noexcept {
        if (!arrivals_.push(node)) return false;
        enlisted_.fetch_add(1, std::memory_order_relaxed);  // a figure orders nothing
        return true;
    }
    // Home: a task that has ended here.
    void remove(Node& node) noexcept {
        Node* const previous = node.previousLive;
        Node* const next = node.nextLive;
        (previous ? previous->nextLive : first_) = next;
        if (next) next->previousLive = previous;
    }
    // Any other thread: a task that has ended there. The caller must not touch it afterwards, and then gives the home a
    // turn. [L2]
    void depart(Node& node) noexcept {
        const bool open = departures_.push(node);
        static_cast<void>(open);  // the home closes only the other tray, and not before its last task has ended
    }

    // Home, after it has taken what was submitted [L1]: brings the list up to date; release(node) for each task that has
    // ended elsewhere, which is off the list then.
    template <class Release>
    void settle(Release release) noexcept {
        QueueNode* departed = departures_.takeAll();  // first: each of these has arrived before [L2]
        if (!arrivals_.empty()) takeArrivals();
        while (departed != nullptr) {
            Node& ended = static_cast<Node&>(*departed);
            departed = departed->next;
            remove(ended);
            release(ended);
        }
    }

    // Home, after settle(). visit(node) may not end a task.
    template <class Visit>
    void forEach(Visit visit) {
        for (Node* node = first_; node != nullptr;) {
            Node* next = node->nextLive;
            visit(*node);
            node = next;
        }
    }
    bool empty() const noexcept { return first_ == nullptr; }
    // Home, when it ends: true when nothing lives and, from now on, nothing can be enlisted. [L3]
    [[nodiscard]] bool closeIfEmpty() noexcept { return empty() && arrivals_.closeIfEmpty(); }

    // How many have been submitted by others so far. Any thread.
    std::uint64_t enlisted() const noexcept { return enlisted_.load(std::memory_order_relaxed); }  // a figure

  private:
    struct LiveLink {
        static auto& of(Node& node) noexcept { return node.nextLive; }
    };

    void link(Node& node) noexcept {
        node.previousLive = nullptr;
        node.nextLive = first_;
        if (first_) first_->previousLive = &node;
        first_ = &node;
    }
    void takeArrivals() noexcept {
        for (Node* node = arrivals_.takeAll(); node != nullptr;) {
            Node* next = node->nextLive;
            link(*node);
            node = next;
        }
    }

    // Written by others; the home looks at it once a turn.
    alignas(cacheLine) BasicInTray<P, Node, LiveLink> arrivals_;
    BasicInTray<P, QueueNode> departures_;
    typename P::template Atomic<std::uint64_t> enlisted_{0};

    // The home's own.
    alignas(cacheLine) Node* first_ = nullptr;
};

}  // namespace weft::detail
