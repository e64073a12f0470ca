// LoopWithoutIo: its own carrier with an event loop whose poller has no I/O; for tests with threads and fibers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/io_handler.hpp>

namespace weft::test {

// Sleeps on a condition variable; wakeup() is sticky and counted.
class IdleIoHandler final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard* guard, Deadline deadline, Budget) override {
        if (guard == nullptr || !guard->enter()) return {};
        {
            std::unique_lock held(lock_);
            const auto woken = [this] { return woken_; };
            if (deadline == never) {
                awake_.wait(held, woken);
            } else {
                awake_.wait_until(held, deadline, woken);
            }
            woken_ = false;
        }
        ++sleeps;
        guard->leave();
        return {};
    }
    void wakeup() noexcept override {
        ++wakeups;
        std::lock_guard held(lock_);
        woken_ = true;
        awake_.notify_one();
    }
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

    std::atomic<int> sleeps{0};
    std::atomic<int> wakeups{0};

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

struct LoopWithoutIo {
    CarrierGroup group{oneCarrier()};
    Carrier& carrier = group.carrier(0);
    EventLoop loop{carrier, std::make_unique<IdleIoHandler>()};
    Future<void> ended = loop.start();

    ~LoopWithoutIo() {
        loop.stop();
        ended.await();
    }
    IdleIoHandler& io() { return static_cast<IdleIoHandler&>(*loop.io()); }
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
    void inFiber(std::function<void()> body) { carrier.spawn(std::move(body)).join(); }
};

}  // namespace weft::test
