// RemoteOperations: operations of a context that threads and fibers of other carriers wait for.
#pragma once

#include <exception>
#include <mutex>

#include <weft/scheduler/event_loop.hpp>

#include "operation_list.hpp"

namespace weft::asio_io::detail {

// Wakes an ending loop, which checks after each turn whether operations are left. Context: any thread.
inline void wakeForTheEnd(EventLoop& loop) noexcept {
    try {
        loop.execute([] {});
    } catch (const std::exception&) {
        // The loop has ended, or there is no memory; then the loop checks when something else wakes it.
    }
}

// Shared by the context's Service and by each operation. An operation that has completed ends on its own thread,
// perhaps after the context is gone. Context: any thread, unless stated otherwise.
class RemoteOperations {
  public:
    explicit RemoteOperations(EventLoop& loop) : loop_(&loop) {}

    // Call it before the operation is started. Returns false when the context's loop is ending.
    [[nodiscard]] bool add(FiberOperation& operation) noexcept {
        const std::lock_guard held(lock_);
        if (closing_) return false;
        operation.starting_ = true;
        operations_.add(operation);
        return true;
    }
    // Call it after that. Returns false when the loop has begun to end meanwhile: then the caller cancels the
    // operation.
    [[nodiscard]] bool started(FiberOperation& operation) noexcept {
        const std::lock_guard held(lock_);
        operation.starting_ = false;
        return !closing_ || loop_ == nullptr;
    }
    // Removing the last operation wakes a loop that waits for them.
    void remove(FiberOperation& operation) noexcept {
        const std::lock_guard held(lock_);
        if (loop_ == nullptr) return;
        operations_.remove(operation);
        if (closing_ && operations_.empty()) wakeForTheEnd(*loop_);
    }
    bool empty() const noexcept {
        const std::lock_guard held(lock_);
        return operations_.empty();
    }

    // Accepts no more operations and cancels those that have been started. Context: the loop.
    void cancelAll() noexcept {
        const std::lock_guard held(lock_);
        closing_ = true;
        operations_.cancelAll();
    }
    // Separates the operations from the context. Context: the loop.
    void forgetAll() noexcept {
        const std::lock_guard held(lock_);
        closing_ = true;
        loop_ = nullptr;
    }

  private:
    mutable std::mutex lock_;  // guards the members below
    OperationList operations_;
    EventLoop* loop_;  // null after forgetAll()
    bool closing_ = false;
};

}  // namespace weft::asio_io::detail
