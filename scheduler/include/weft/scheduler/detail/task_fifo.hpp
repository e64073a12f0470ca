// TaskFifo: the tasks that an event loop has taken over, in order. Intrusive, so it never allocates.
#pragma once

#include <cstddef>
#include <utility>

namespace weft::detail {

// Tasks from other threads arrive linked newest first. Reversing the list takes one step per task, so the loop reverses
// it in portions, by calls of reverse(): half a million tasks at once would delay it. Used by one thread. Node has a
// member `Node* next`.
template <class Node>
class TaskFifo {
  public:
    // True if there is no task, including those of an adopted list that is not reversed yet.
    bool empty() const noexcept { return first_ == nullptr && newest_ == nullptr; }

    void push(Node& task) noexcept {
        task.next = nullptr;
        append(task, task);
    }
    // The oldest task in order, or null.
    Node* pop() noexcept {
        Node* task = first_;
        if (task != nullptr) first_ = task->next;
        return task;
    }

    // Takes over a list linked newest first; first reverses all that is left of the previous one. Tasks that push()
    // adds before the new list is reversed run before it.
    void adopt(Node* newest) noexcept {
        reverse(~std::size_t{0});
        newest_ = newest;
    }
    // True if no part of an adopted list is left to reverse, so that pop() reaches every task.
    bool reversed() const noexcept { return newest_ == nullptr; }
    // Reverses the adopted list, at most `steps` tasks per call. Once it is complete, pop() returns its tasks.
    void reverse(std::size_t steps) noexcept {
        if (reversed()) return;
        for (; newest_ != nullptr && steps > 0; --steps) {
            Node* task = std::exchange(newest_, newest_->next);
            task->next = reversed_;
            if (reversed_ == nullptr) lastReversed_ = task;
            reversed_ = task;
        }
        if (newest_ == nullptr) append(*std::exchange(reversed_, nullptr), *lastReversed_);
    }

  private:
    void append(Node& first, Node& last) noexcept {
        (first_ != nullptr ? last_->next : first_) = &first;
        last_ = &last;
    }

    Node* first_ = nullptr;
    Node* last_ = nullptr;          // valid if first_ is not null
    Node* newest_ = nullptr;        // the part of the adopted list that is not reversed yet
    Node* reversed_ = nullptr;      // the part that is reversed, oldest first
    Node* lastReversed_ = nullptr;  // valid if reversed_ is not null
};

}  // namespace weft::detail
