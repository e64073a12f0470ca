// TaskFifo: the tasks that an event loop has taken over, in order. Intrusive, so it never allocates.
#pragma once

#include <cstddef>
#include <utility>

namespace weft::detail {

// Tasks from other threads arrive linked newest first. Reversing the list takes one step per task, so settle() does it
// in portions; otherwise half a million tasks would delay the loop. Used by one thread. Node has a member `Node* next`.
template <class Node>
class TaskFifo {
  public:
    // True if there is no task, settled or not.
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

    // Takes over a list linked newest first. Tasks that push() adds before the list is settled run before it.
    void adopt(Node* newest) noexcept {
        settle(~std::size_t{0});
        newest_ = newest;
    }
    bool settled() const noexcept { return newest_ == nullptr; }
    // Reverses the adopted list, at most `steps` tasks per call. Once it is complete, pop() returns its tasks.
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
    Node* last_ = nullptr;        // valid if first_ is not null
    Node* newest_ = nullptr;      // the part of the adopted list that is not reversed yet
    Node* turned_ = nullptr;      // the part that is reversed, oldest first
    Node* lastTurned_ = nullptr;  // valid if turned_ is not null
};

}  // namespace weft::detail
