// RemoteOperations: operations of a context that threads and fibers of other carriers wait for.
#pragma once

#include <mutex>

#include <weft/scheduler/event_loop.hpp>

#include "operation_list.hpp"

namespace weft::asio_io::detail {

// Wakes an ending loop, which checks after each turn whether operations are left. Context: any thread.
void wakeForTheEnd(EventLoop& loop) noexcept;

// Shared by the context's Service and by each operation. An operation that has completed ends on its own thread,
// perhaps after the context is gone. Context: any thread, unless stated otherwise.
class RemoteOperations {
  public:
    explicit RemoteOperations(EventLoop& loop) : loop_(&loop) {}

    // Call it before the operation is started. Returns false when the context's loop is ending.
    [[nodiscard]] bool add(FiberOperation& operation) noexcept;
    // Call it after that. Returns false when the loop has begun to end meanwhile: then the caller cancels the
    // operation.
    [[nodiscard]] bool started(FiberOperation& operation) noexcept;
    // Removing the last operation wakes a loop that waits for them.
    void remove(FiberOperation& operation) noexcept;
    bool empty() const noexcept;

    // Accepts no more operations and cancels those that have been started. Context: the loop.
    void cancelAll() noexcept;
    // Separates the operations from the context. Context: the loop.
    void forgetAll() noexcept;

  private:
    mutable std::mutex lock_;  // guards the members below
    OperationList operations_;
    EventLoop* loop_;  // null after forgetAll()
    bool closing_ = false;
};

}  // namespace weft::asio_io::detail
