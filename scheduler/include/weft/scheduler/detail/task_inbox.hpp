// TaskInbox and TaskFifo: an event loop's task queue. Any thread drops nodes into the inbox; the loop takes them whole
// and runs them from its own FIFO.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Any thread pushes; allocates one node per push (the price of crossing threads).
template <class T>
class TaskInbox {
  public:
    struct Node {
        T task;
        Node* next = nullptr;
    };

    TaskInbox() = default;
    TaskInbox(const TaskInbox&) = delete;
    TaskInbox& operator=(const TaskInbox&) = delete;
    ~TaskInbox() {
        takeAll([](T&&) {});
    }

    // False when closed; the task is destroyed.
    [[nodiscard]] bool push(T task) {
        auto node = std::make_unique<Node>(Node{std::move(task)});
        if (!tray_.push(*node)) return false;
        node.release();
        return true;
    }
    template <class Consume>
    void takeAll(Consume consume) {
        for (Node* node = tray_.takeAll(); node != nullptr;) {
            std::unique_ptr<Node> owned(node);
            node = node->next;
            consume(std::move(owned->task));
        }
    }
    bool empty() const noexcept { return tray_.empty(); }
    [[nodiscard]] bool closeIfEmpty() noexcept { return tray_.closeIfEmpty(); }
    // Closes it whatever it holds, and consumes that.
    template <class Consume>
    void close(Consume consume) {
        while (!tray_.closeIfEmpty()) takeAll(consume);
    }

  private:
    BasicInTray<NativeAtomics, Node> tray_;
};

// A growing ring: push at the back, pop at the front, no allocation once it has reached its size. One thread.
template <class T>
class TaskFifo {
  public:
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }

    void push(T task) {
        if (count_ == capacity_) grow();
        slots_[(first_ + count_) & (capacity_ - 1)] = std::move(task);
        ++count_;
    }
    T pop() {
        T task = std::move(slots_[first_]);
        first_ = (first_ + 1) & (capacity_ - 1);
        --count_;
        return task;
    }

  private:
    void grow() {
        const std::size_t larger = capacity_ ? capacity_ * 2 : 64;
        auto slots = std::make_unique<T[]>(larger);
        for (std::size_t i = 0; i < count_; ++i) slots[i] = std::move(slots_[(first_ + i) & (capacity_ - 1)]);
        slots_ = std::move(slots);
        capacity_ = larger;
        first_ = 0;
    }

    std::unique_ptr<T[]> slots_;
    std::size_t capacity_ = 0;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace weft::detail
