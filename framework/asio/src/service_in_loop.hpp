// Service::inLoop(): a step of the service on its loop, for a caller that waits for it.
#pragma once

#include <mutex>

#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/loop_task.hpp>
#include <weft/scheduler/wait_list.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

// Runs `block` as a task of the loop, and returns after it has run; false when the loop accepts no more tasks.
template <class Block>
bool Service::inLoop(Block block) {
    class Task final : public LoopTask {
      public:
        explicit Task(Block& owner) : block_(owner) {}
        void await() {
            waiters_.waitUninterruptibly(lock_, "asio_io::Context", [this] { return over_; });
        }
        bool ran = false;

      private:
        void run() noexcept override {
            block_();
            ran = true;
            end();
        }
        void abandon() noexcept override { end(); }
        void end() noexcept {
            waiters_.changeAndWakeAll(lock_, [this] { over_ = true; });
        }

        Block& block_;
        std::mutex lock_;
        WaitList waiters_;
        bool over_ = false;
    };
    Task task(block);
    if (!loop_.execute(task)) return false;
    task.await();
    return task.ran;
}

}  // namespace weft::asio_io::detail
