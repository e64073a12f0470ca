// LoopInbox: what other threads may do to an event loop: post a task, ask it to stop. One more source of work for the
// carrier's sleep. docs/protocol.md sections 1 and 8.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include <weft/scheduler/detail/in_tray.hpp>

namespace weft::detail {

// Allocates one node per post: the price of crossing threads.
template <class P, class T>
class BasicLoopInbox {
  public:
    struct Node {
        T task;
        typename P::template Plain<Node*> next = nullptr;
    };

    BasicLoopInbox() = default;
    BasicLoopInbox(const BasicLoopInbox&) = delete;
    BasicLoopInbox& operator=(const BasicLoopInbox&) = delete;
    ~BasicLoopInbox() {
        close([](T&&) {});
    }

    // Any thread, then the carrier's wake(). False when closed; the task is destroyed.
    [[nodiscard]] bool post(T task) {
        auto node = std::make_unique<Node>(Node{std::move(task)});
        if (!tray_.push(*node)) return false;
        node.release();
        return true;
    }
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

    template <class Consume>
    void takeAll(Consume consume) {
        consumeAll(tray_.takeAll(), consume);
    }
    // Later posts fail; what was posted before is consumed.
    template <class Consume>
    void close(Consume consume) {
        consumeAll(tray_.close(), consume);
    }

  private:
    template <class Consume>
    static void consumeAll(Node* node, Consume& consume) {
        while (node != nullptr) {
            std::unique_ptr<Node> owned(node);
            node = node->next;
            consume(std::move(owned->task));
        }
    }

    BasicInTray<P, Node> tray_;
    typename P::template Atomic<bool> stopRequested_{false};
    bool stopNoted_ = false;
};

}  // namespace weft::detail
