// A user's own poller, on a condition variable, under the installed conformance kit.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/testing/poller_conformance.hpp>

class MyPollerUnderTest {
  public:
    weft::Future<void> start(weft::Carrier& carrier) {
        return carrier.registerPinnedPoller(
            [this] {
                ++wakeups_;
                ring();
            },
            [this](weft::PinnedPoller& poller) { run(poller); });
    }
    void stop() {
        stopped_ = true;
        ring();
    }
    void inject(std::function<void()> event) {
        {
            std::lock_guard held(lock_);
            events_.push_back(std::move(event));
        }
        ring();
    }
    std::uint64_t looks() const { return looks_; }
    std::uint64_t wakeups() const { return wakeups_; }

  private:
    void ring() {
        std::lock_guard held(lock_);
        rung_ = true;
        bell_.notify_one();
    }
    void run(weft::PinnedPoller& poller) {
        bool idle = false;
        while (!stopped_ && !poller.stopRequested()) {
            if (idle && poller.tryParkPoller()) {
                if (poller.canParkPoller()) sleepUntil(poller.parkDeadline());
                poller.unpark();
            }
            const bool found = dispatchOne();
            idle = !poller.maybeYield(found) && !found;
        }
    }
    void sleepUntil(weft::Deadline deadline) {
        std::unique_lock held(lock_);
        const auto rung = [this] { return rung_; };
        if (deadline == weft::never) {
            bell_.wait(held, rung);
        } else {
            bell_.wait_until(held, deadline, rung);
        }
    }
    bool dispatchOne() {
        ++looks_;
        std::function<void()> event;
        {
            std::lock_guard held(lock_);
            rung_ = false;
            if (events_.empty()) return false;
            event = std::move(events_.front());
            events_.pop_front();
        }
        event();
        return true;
    }

    std::mutex lock_;
    std::condition_variable bell_;
    std::deque<std::function<void()>> events_;
    bool rung_ = false;
    std::atomic<bool> stopped_{false};
    std::atomic<std::uint64_t> looks_{0};
    std::atomic<std::uint64_t> wakeups_{0};
};

namespace weft::test {
using Mine = ::testing::Types<MyPollerUnderTest>;
INSTANTIATE_TYPED_TEST_SUITE_P(Mine, PollerConformance, Mine);
INSTANTIATE_TYPED_TEST_SUITE_P(Mine, SleepingPollerConformance, Mine);
}  // namespace weft::test
