// TaskFifo: the tasks that an event loop has taken over, in order. Intrusive: it never allocates.
#pragma once

#include <cstddef>
#include <utility>

namespace weft::detail {

// What comes from other threads is linked newest first, and turning it around takes a step for each task: settle() does
// that in portions, so that half a million of them do not hold up the loop. One thread. Node has `Node* next`.
template <class Node>
class TaskFifo {
  public:
    // True when it has no task, settled or not.
    bool empty() const noexcept { return first_ == nullptr && newest_ == nullptr; }

    void push(Node& task) noexcept {
        task.next = nullptr;
        append(task, task);
    }
    // The oldest settled task, or null.
    Node* pop() noexcept {
        Node* task = first_;
        if (task != nullptr) first_ = task->next;
        return task;
    }

    // Takes over a list that is linked newest first; what push() adds before it is settled comes ahead of it.
    void adopt(Node* newest) noexcept {
        settle(~std::size_t{0});
        newest_ = newest;
    }
    bool settled() const noexcept { return newest_ == nullptr; }
    // Puts the adopted list in order, by at most `steps` tasks; with the last one they become visible to pop().
    void settle(std::size_t steps) noexcept {
        if (settled()) return;
        for (; newest_ != nullptr && steps > 0; --steps) {
            Node* task = std::exchange(newest_, newest_->next);
            task->next = turned_;
            if (turned_ == nullptr) lastTurned_ = task;
            turned_ = task;
        }
        if (newest_ == nullptr) append(*std::exchange(turned_, nullptr), *lastTurned_);
    }

  private:
    void append(Node& first, Node& last) noexcept {
        (first_ != nullptr ? last_->next : first_) = &first;
        last_ = &last;
    }

    Node* first_ = nullptr;
    Node* last_ = nullptr;        // while there is a first one
    Node* newest_ = nullptr;      // what is adopted and not settled yet
    Node* turned_ = nullptr;      // the part of it that is in order: older ones go in front
    Node* lastTurned_ = nullptr;  // while there is such a part
};

}  // namespace weft::detail
