// LoopInbox: what other threads may do to an event loop: post a task, ask it to stop. One more source of work for the
// carrier's sleep. docs/protocol.md sections 1 and 8.
#pragma once

#include <atomic>

#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Tasks are intrusive: a post neither allocates nor throws. Node is as the in-tray wants it.
template <class P, class Node>
class BasicLoopInbox {
  public:
    BasicLoopInbox() = default;
    BasicLoopInbox(const BasicLoopInbox&) = delete;
    BasicLoopInbox& operator=(const BasicLoopInbox&) = delete;

    // Any thread, then the carrier's wake(). False when closed: the task is still the caller's.
    [[nodiscard]] bool post(Node& task) noexcept { return tray_.push(task); }
    // Any thread: true from the close on, when every post is refused.
    bool closed() const noexcept { return tray_.closed(); }
    // Any thread, then the carrier's wake().
    void requestStop() noexcept { stopRequested_.store(true, std::memory_order_seq_cst); }  // [K1]
    bool stopRequested() const noexcept { return stopRequested_.load(std::memory_order_acquire); }

    // The rest is the loop's own. After this the stop request is no reason to stay awake any more.
    void noteStop() noexcept { stopNoted_ = true; }
    bool stopNoted() const noexcept { return stopNoted_; }
    // What must keep the loop from sleeping.
    bool hasWork() const noexcept {
        return !tray_.empty() || (stopRequested_.load(std::memory_order_seq_cst) && !stopNoted_);  // [K3]
    }
    bool empty() const noexcept { return tray_.empty(); }

    // What has been posted, linked newest first.
    Node* takeNewestFirst() noexcept { return tray_.takeNewestFirst(); }
    // The same; later posts are refused.
    Node* closeNewestFirst() noexcept { return tray_.closeNewestFirst(); }

  private:
    BasicInTray<P, Node> tray_;
    typename P::template Atomic<bool> stopRequested_{false};
    bool stopNoted_ = false;
};

}  // namespace weft::detail
