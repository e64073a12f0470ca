// LiveList: the tasks of one home, from their submission to their end, on whichever carrier they run. The home's
// shutdown ends the waits of the tasks in this list, and the home ends only once it is empty.
// docs/explanation/protocol.md section 13.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Intrusive, doubly linked; only the home's thread uses the links. Other threads push new tasks and tasks that ended on
// their carriers to two trays, which the home empties every turn. Node has members `Node* nextLive` and `Node*
// previousLive`. The tray of departures uses the run queue's link, `QueueNode* next`, which an ended task no longer
// needs. QueueNode is a base of Node, or Node itself.
template <class P, class Node, class QueueNode = Node>
class BasicLiveList {
  public:
    // Home: adds a task that the home's own thread submits.
    void add(Node& node) noexcept { link(node); }
    // Any other thread: adds a task before it is submitted [L1]. False: the home has ended, and the caller keeps the
    // node. After true the home cannot end before the task has ended.
    [[nodiscard]] bool enlist(Node& node) noexcept {
        if (!arrivals_.push(node)) return false;
        enlisted_.fetch_add(1, std::memory_order_relaxed);  // a statistic orders nothing
        return true;
    }
    // Home: removes a task that has ended here.
    void remove(Node& node) noexcept {
        Node* const previous = node.previousLive;
        Node* const next = node.nextLive;
        (previous ? previous->nextLive : first_) = next;
        if (next) next->previousLive = previous;
    }
    // Any other thread: reports a task that has ended there. The caller must not touch the task afterwards, and must
    // then request a turn of the home. [L2]
    void depart(Node& node) noexcept {
        const bool open = departures_.push(node);
        static_cast<void>(open);  // true: the home never closes this tray
    }

    // Home, after it has taken submitted tasks [L1]: empties both trays. Calls release(node) for each task that has
    // ended on another carrier, after its removal from the list.
    template <class Release>
    void settle(Release release) noexcept {
        QueueNode* departed = departures_.takeAll();  // before the arrivals: these tasks have arrived already [L2]
        if (!arrivals_.empty()) takeArrivals();
        while (departed != nullptr) {
            Node& ended = static_cast<Node&>(*departed);
            departed = departed->next;
            remove(ended);
            release(ended);
        }
    }

    // Home, after settle(). visit(node) must not remove a task.
    template <class Visit>
    void forEach(Visit visit) {
        for (Node* node = first_; node != nullptr;) {
            Node* next = node->nextLive;
            visit(*node);
            node = next;
        }
    }
    bool empty() const noexcept { return first_ == nullptr; }
    // Home: if no task is live, refuses tasks from now on and returns true. [L3]
    [[nodiscard]] bool closeIfEmpty() noexcept { return empty() && arrivals_.closeIfEmpty(); }

    // Number of tasks that other threads have added so far. Any thread.
    std::uint64_t enlisted() const noexcept { return enlisted_.load(std::memory_order_relaxed); }  // a statistic

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

    // Written by other threads; the home reads them every turn.
    alignas(cacheLine) BasicInTray<P, Node, LiveLink> arrivals_;
    BasicInTray<P, QueueNode> departures_;
    typename P::template Atomic<std::uint64_t> enlisted_{0};

    // The home's own.
    alignas(cacheLine) Node* first_ = nullptr;
};

}  // namespace weft::detail
