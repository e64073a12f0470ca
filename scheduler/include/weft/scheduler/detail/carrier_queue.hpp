// CarrierQueue: what a carrier runs from. A home lane, which only its own thread takes from, and, in a group that steals, a
// stealable lane beside it. docs/protocol.md section 11, docs/adr/0019.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <weft/scheduler/detail/run_queue.hpp>
#include <weft/scheduler/detail/stealable_queue.hpp>

namespace weft::detail {

enum class Lanes : std::uint8_t {
    homeOnly,  // nobody steals: a push and a pop are plain stores
    both,
};

// FIFO over both lanes, as far as the owner's pushes go: a task of the stealable lane is stamped with the number of home
// tasks that were pushed before it, and its turn comes when they have been popped. What others submit to the two lanes
// between two looks of the owner, what overflows a ring and what a thief hands back may come in another order. A thief never
// touches a task that may not be stolen. Unbounded; allocates in its constructor only. Owner: the carrier's thread.
template <class P, class Node, std::uint32_t capacity = 256>
class BasicCarrierQueue {
  public:
    // Throws std::bad_alloc.
    explicit BasicCarrierQueue(Lanes lanes = Lanes::homeOnly)
        : stealable_(lanes == Lanes::both ? std::make_unique<StealableLane>() : nullptr) {}

    // Any thread; false when closed.
    [[nodiscard]] bool submit(Node& node) noexcept { return home_.submit(node); }
    // As submit(), for one that another carrier may run. Context: only with both lanes, here and below.
    [[nodiscard]] bool submitStealable(Node& node) noexcept { return stealable_->submit(node); }

    // Any thread: whether there is something to steal, as far as the caller's last seq_cst operation shows. [D4]
    bool hasSpoils() const noexcept { return stealable_->hasSpoils(); }
    // Any thread, a figure: how many tasks wait in the stealable lane's ring.
    std::size_t spoils() const noexcept { return stealable_->depth(); }
    // The owner of this queue: takes up to half of what waits in one place of the victim's stealable lane.
    Theft stealFrom(BasicCarrierQueue& victim) noexcept {
        return stealable_->stealFrom(*victim.stealable_, home_.pushed());
    }

    // The rest is the owner's. Behind everything that the owner has taken so far.
    void push(Node& node) noexcept { home_.push(node); }
    void pushStealable(Node& node) noexcept { stealable_->push(node, home_.pushed()); }

    // Moves what has been submitted behind what is queued. True when thieves can reach some of it: the first half of [D4].
    bool takeSubmitted() noexcept {
        home_.takeSubmitted();
        return stealable_ != nullptr && stealable_->takeSubmitted(home_.pushed());
    }

    // The oldest task, or null. Does not look into the in-trays. `moved` becomes true when tasks of the stealable lane were
    // moved for it: as takeSubmitted().
    Node* pop(bool& moved) noexcept {
        if (stealable_ == nullptr) [[likely]]
            return home_.pop();
        Node* node = popOldest();
        if (stealable_->takeRefilled()) moved = true;
        return node;
    }

    // The task of the home lane that the pop() after `ahead` others of it would return, if it is in its ring; else null.
    const Node* peek(std::uint32_t ahead) const noexcept { return home_.peek(ahead); }
    // In debug runs: brings the `nth` of the next few tasks of the home lane to its front.
    void promote(std::uint32_t nth) noexcept { home_.promote(nth); }

    // Nothing queued and, by seq_cst loads [K3], nothing submitted or handed back.
    bool empty() const noexcept { return home_.empty() && (stealable_ == nullptr || stealable_->empty()); }
    // How many tasks wait, without those still in the in-trays.
    std::size_t depth() const noexcept { return home_.depth() + (stealable_ == nullptr ? 0 : stealable_->depth()); }

    // Closes an empty queue; once one lane is closed, the other one only has to become empty.
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
