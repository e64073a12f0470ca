// HostedLoop: a carrier of its own with an event loop whose poller has no I/O; for tests with threads and fibers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/io_handler.hpp>

namespace weft::test {

// Sleeps on a condition variable; wakeup() is sticky.
class IdleIoHandler final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard* guard, Deadline deadline, Budget) override {
        if (!guard || !guard->enter()) return {};
        {
            std::unique_lock held(lock_);
            if (deadline == never) {
                awake_.wait(held, [this] { return woken_; });
            } else {
                awake_.wait_until(held, deadline, [this] { return woken_; });
            }
            woken_ = false;
        }
        guard->leave();
        return {};
    }
    void wakeup() noexcept override {
        std::lock_guard held(lock_);
        woken_ = true;
        awake_.notify_one();
    }
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

  private:
    std::mutex lock_;
    std::condition_variable awake_;
    bool woken_ = false;
};

inline CarrierOptions oneCarrier() {
    CarrierOptions options;
    options.carriers = 1;
    return options;
}

struct HostedLoop {
    CarrierGroup group{oneCarrier()};
    EventLoop loop{group.carrier(0), std::make_unique<IdleIoHandler>()};
    Future<void> ended = loop.start();

    ~HostedLoop() {
        loop.stop();
        ended.await();
    }
    // Runs `task` in the loop's dispatch and waits for it.
    void inDispatch(std::function<void()> task) {
        Promise<void> done;
        Future<void> future = done.future();
        loop.execute([&] {
            task();
            done.setValue();
        });
        future.await();
    }
    // Runs `body` in an ordinary fiber of the loop's carrier and waits for it.
    void inFiber(std::function<void()> body) { group.carrier(0).spawn(std::move(body)).join(); }
};

}  // namespace weft::test
