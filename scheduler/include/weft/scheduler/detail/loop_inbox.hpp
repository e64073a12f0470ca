// LoopInbox: the part of an event loop that other threads use: posted tasks and the stop request. Both are sources of
// work that keep the carrier from sleeping. docs/explanation/protocol.md sections 1 and 8.
#pragma once

#include <atomic>

#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Tasks are intrusive, so a post neither allocates nor throws. Node: see BasicInTray.
template <class P, class Node>
class BasicLoopInbox {
  public:
    BasicLoopInbox() = default;
    BasicLoopInbox(const BasicLoopInbox&) = delete;
    BasicLoopInbox& operator=(const BasicLoopInbox&) = delete;

    // Any thread; wake the carrier afterwards. False if the inbox is closed: the caller keeps the task.
    [[nodiscard]] bool post(Node& task) noexcept { return tray_.push(task); }
    // Any thread: true once the inbox is closed and refuses every post.
    bool closed() const noexcept { return tray_.closed(); }
    // Any thread; wake the carrier afterwards.
    void requestStop() noexcept { stopRequested_.store(true, std::memory_order_seq_cst); }  // [K1]
    bool stopRequested() const noexcept { return stopRequested_.load(std::memory_order_acquire); }

    // Context of everything below: the loop. After noteStop() the stop request no longer keeps the loop awake.
    void noteStop() noexcept { stopNoted_ = true; }
    bool stopNoted() const noexcept { return stopNoted_; }
    // True if the loop must not sleep.
    bool hasWork() const noexcept {
        return !tray_.empty() || (stopRequested_.load(std::memory_order_seq_cst) && !stopNoted_);  // [K3]
    }
    bool empty() const noexcept { return tray_.empty(); }

    // Takes all posted tasks, linked newest first.
    Node* takeNewestFirst() noexcept { return tray_.takeNewestFirst(); }
    // As takeNewestFirst(), and refuses later posts.
    Node* closeNewestFirst() noexcept { return tray_.closeNewestFirst(); }

  private:
    BasicInTray<P, Node> tray_;
    typename P::template Atomic<bool> stopRequested_{false};
    bool stopNoted_ = false;
};

}  // namespace weft::detail
