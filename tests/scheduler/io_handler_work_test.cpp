// IoHandler::hasWork(): work that only the handler knows of keeps its loop from sleeping.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include <weft/scheduler/event_loop.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

// Another thread hands work to the handler just before it sleeps: after the handler's own check and before the loop's
// second one. No thread wakes the carrier for it, so only hasWork() can report it.
class WorkAtTheEdge final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard* guard, Deadline deadline, Budget) override {
        PollResult result;
        if (work_.exchange(false)) {
            ++done;
            result.events = 1;
        }
        if (guard == nullptr) return result;
        if (arm.exchange(false)) work_ = true;
        if (!guard->enter()) {
            ++refused;
            return result;
        }
        guard->leave();  // it does not really sleep: only the answer matters
        std::this_thread::yield();
        static_cast<void>(deadline);
        return result;
    }
    void wakeup() noexcept override {}
    bool hasWork() const noexcept override {
        ++asked;
        return work_;
    }
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

    std::atomic<bool> arm{false};
    std::atomic<int> done{0};
    std::atomic<int> refused{0};
    mutable std::atomic<int> asked{0};

  private:
    std::atomic<bool> work_{false};
};

TEST(IoHandlerWork, KeepsItsLoopFromSleeping) {
    CarrierGroup group(test::oneCarrier());
    auto made = std::make_unique<WorkAtTheEdge>();
    WorkAtTheEdge& handler = *made;
    EventLoop loop(group.carrier(0), std::move(made));
    auto ended = loop.start();
    for (int round = 1; round <= 100; ++round) {
        handler.arm = true;
        while (handler.done < round) std::this_thread::yield();
    }
    loop.stop();
    ended.get();
    EXPECT_GE(handler.refused, 100) << "each time the guard has said no";
    EXPECT_GE(handler.asked, handler.refused);
}

}  // namespace
}  // namespace weft
