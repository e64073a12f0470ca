// CarrierQueue: a carrier's run queue. Only the carrier's own thread takes from its home lane; in a group with work
// stealing, other carriers may take from its stealable lane. docs/explanation/protocol.md section 11, docs/adr/0019.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/scheduler/detail/run_queue.hpp>
#include <weft/scheduler/detail/stealable_queue.hpp>

namespace weft::detail {

enum class Lanes : std::uint8_t {
    homeOnly,  // no stealing: push and pop need no atomic operations
    both,
};

// FIFO over both lanes for the owner's pushes: a task of the stealable lane is stamped with the number of tasks that
// were pushed to the home lane before it, and is popped after these. The order may differ for tasks that other threads
// submit to different lanes between two takeSubmitted() calls, that overflow a ring, or that a thief hands back. A
// thief never touches a task that may not be stolen. Unbounded; allocates only in its constructor. Owner: the carrier's
// thread.
template <class P, class Node, std::uint32_t capacity = 256>
class BasicCarrierQueue {
  public:
    // Throws std::bad_alloc.
    explicit BasicCarrierQueue(Lanes lanes = Lanes::homeOnly)
        : stealable_(lanes == Lanes::both ? std::make_unique<StealableLane>() : nullptr) {}

    // Any thread; false when closed.
    [[nodiscard]] bool submit(Node& node) noexcept { return home_.submit(node); }
    // As submit(), for a task that another carrier may run. Requires both lanes, as do hasStealable(),
    // stealableCount(), stealFrom() and pushStealable().
    [[nodiscard]] bool submitStealable(Node& node) noexcept { return stealable_->submit(node); }

    // Any thread: true if there are tasks to steal; see BasicStealableQueue::hasStealable(). [D4]
    bool hasStealable() const noexcept { return stealable_->hasStealable(); }
    // Any thread: number of tasks in the stealable lane's ring; may be stale.
    std::size_t stealableCount() const noexcept { return stealable_->depth(); }
    // The owner of this queue: steals from the victim's stealable lane; see BasicStealableQueue::stealFrom().
    StealResult stealFrom(BasicCarrierQueue& victim, std::uint32_t most = capacity) noexcept {
        return stealable_->stealFrom(*victim.stealable_, home_.pushed(), most);
    }

    // Context of everything below: the owner. Queues a task after everything that the owner has taken over so far.
    void push(Node& node) noexcept { home_.push(node); }
    void pushStealable(Node& node) noexcept { stealable_->push(node, home_.pushed()); }

    // Takes over submitted tasks and queues them last. True if thieves can reach some of them: the caller must then
    // check the idle set for a carrier to call. [D4]
    bool takeSubmitted() noexcept {
        home_.takeSubmitted();
        return stealable_ != nullptr && stealable_->takeSubmitted(home_.pushed());
    }

    // The oldest task, or null. Does not take from the in-trays. Sets `moved` if it moved other tasks of the stealable
    // lane to where thieves can reach them: the caller must then do as after takeSubmitted().
    Node* pop(bool& moved) noexcept {
        if (stealable_ == nullptr) [[likely]]
            return home_.pop();
        Node* node = popOldest();
        if (stealable_->takeRefilled()) moved = true;
        return node;
    }

    // The task of the home lane with `ahead` tasks before it, if it is in the ring; otherwise null.
    const Node* peek(std::uint32_t ahead) const noexcept { return home_.peek(ahead); }
    // For CarrierOptions::shuffleSeed: swaps the first task in the home lane's ring with the one that `nth` selects.
    void promote(std::uint32_t nth) noexcept { home_.promote(nth); }

    // True if no task is queued and, by seq_cst loads [K3], none has been submitted or handed back.
    bool empty() const noexcept { return home_.empty() && (stealable_ == nullptr || stealable_->empty()); }
    // Number of queued tasks, excluding those in the in-trays and in the stealable lane's backlog.
    std::size_t depth() const noexcept { return home_.depth() + (stealable_ == nullptr ? 0 : stealable_->depth()); }

    // Closes both lanes if they are empty; true if both are closed. If only the stealable lane could be closed, it
    // stays closed, so that submitStealable() fails while submit() still succeeds; call closeIfEmpty() again later.
    [[nodiscard]] bool closeIfEmpty() noexcept {
        return home_.empty() && (stealable_ == nullptr || stealable_->closeIfEmpty()) && home_.closeIfEmpty();
    }

  private:
    using StealableLane = BasicStealableQueue<P, Node, capacity>;

    [[gnu::noinline]] Node* popOldest() noexcept {
        const bool homeHas = home_.depth() > 0;
        const auto due = [popped = home_.popped(), homeHas](std::uint32_t stamp) {
            return !homeHas || static_cast<std::int32_t>(popped - stamp) >= 0;
        };
        if (Node* node = stealable_->popIf(due, home_.pushed())) return node;
        return home_.pop();
    }

    const std::unique_ptr<StealableLane> stealable_;
    BasicRunQueue<P, Node, capacity> home_;
};

}  // namespace weft::detail
