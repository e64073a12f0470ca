// RunQueue: runnable tasks that only their carrier takes (SCH-4): an in-tray for submitters, a ring from which the
// owner pops, and a batch list for tasks that do not fit into the ring. FIFO. The home lane of CarrierQueue.
// docs/adr/0002.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Unbounded; never allocates. Node has a member `Node* next`. Owner: the carrier's thread.
template <class P, class Node, std::uint32_t capacity = 256>
class BasicRunQueue {
    static_assert((capacity & (capacity - 1)) == 0, "the ring is indexed by masking");

  public:
    // Any thread; false if the queue is closed.
    [[nodiscard]] bool submit(Node& node) noexcept { return inTray_.push(node); }

    // Owner: queues a task after everything that the owner has taken over so far.
    void push(Node& node) noexcept {
        if (tail_ - head_ < capacity) {
            ring_[tail_++ & (capacity - 1)] = &node;
        } else {
            appendToBatch(node);
        }
    }

    // Owner: takes over submitted tasks and queues them last.
    void takeSubmitted() noexcept {
        for (Node* node = inTray_.takeAll(); node != nullptr;) {
            Node* next = node->next;
            push(*node);
            node = next;
        }
    }

    // Owner: the oldest task, or null. Does not take from the in-tray.
    Node* pop() noexcept {
        if (head_ == tail_) return nullptr;
        Node* node = ring_[head_++ & (capacity - 1)];
        if (batchFirst_ != nullptr) [[unlikely]]
            refill();
        return node;
    }

    // Owner: the task with `ahead` tasks before it, if it is in the ring; otherwise null.
    const Node* peek(std::uint32_t ahead) const noexcept {
        return tail_ - head_ > ahead ? ring_[(head_ + ahead) & (capacity - 1)] : nullptr;
    }

    // Owner, for CarrierOptions::shuffleSeed: moves a task of the ring, which `nth` selects, to the front, to expose
    // code that relies on FIFO order.
    void promote(std::uint32_t nth) noexcept {
        if (head_ == tail_) return;
        std::swap(ring_[head_ & (capacity - 1)], ring_[(head_ + nth % (tail_ - head_)) & (capacity - 1)]);
    }

    // Owner: true if no task is queued and, by a seq_cst load [K3], none has been submitted.
    bool empty() const noexcept { return head_ == tail_ && batchFirst_ == nullptr && inTray_.empty(); }
    // Owner: number of queued tasks, excluding those in the in-tray.
    std::size_t depth() const noexcept { return tail_ - head_ + batchSize_; }

    // Owner: number of tasks pushed and popped so far, modulo 2^32.
    std::uint32_t pushed() const noexcept { return tail_ + static_cast<std::uint32_t>(batchSize_); }
    std::uint32_t popped() const noexcept { return head_; }

    [[nodiscard]] bool closeIfEmpty() noexcept { return empty() && inTray_.closeIfEmpty(); }

  private:
    void appendToBatch(Node& node) noexcept {
        node.next = nullptr;
        (batchFirst_ ? batchLast_->next : batchFirst_) = &node;
        batchLast_ = &node;
        ++batchSize_;
    }
    // Moves one task from the batch per pop(). Moving all at once would incur one cache miss per task in a row.
    void refill() noexcept {
        Node* node = batchFirst_;
        batchFirst_ = node->next;
        if (batchFirst_ != nullptr) __builtin_prefetch(static_cast<const void*>(&batchFirst_->next));
        --batchSize_;
        ring_[tail_++ & (capacity - 1)] = node;
    }

    alignas(cacheLine) BasicInTray<P, Node> inTray_;  // any thread
    // Owner. The ring is full while the batch is not empty.
    alignas(cacheLine) std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
    Node* batchFirst_ = nullptr;
    Node* batchLast_ = nullptr;
    std::size_t batchSize_ = 0;
    std::array<Node*, capacity> ring_;
};

}  // namespace weft::detail
