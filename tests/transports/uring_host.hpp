// UringHost: a carrier with an event loop on io_uring, and the tests that need one.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/transports/uring/uring_calls.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "transports/socket_loops.hpp"

namespace weft::test {

class UringHost {
  public:
    explicit UringHost(UringOptions options = {}, UringCalls& calls = UringCalls::kernel(),
                       const EventLoop::Options& loopOptions = {}, SystemCalls& sockets = SystemCalls::kernel())
        : group_(carrierWithLongRuns("uring")),
          loop_(group_.carrier(0), std::make_unique<UringIoHandler>(options, calls, sockets), loopOptions),
          ended_(loop_.start()) {
        inLoop([] {});  // the ring is enabled once the first task has run
    }
    ~UringHost() { stop(); }
    void stop() {
        loop_.stop();
        EXPECT_TRUE(ended_.awaitUntil(testDeadline())) << "the event loop does not end";
    }

    EventLoop& loop() { return loop_; }
    Carrier& carrier() { return group_.carrier(0); }
    UringIoHandler& poller() { return static_cast<UringIoHandler&>(*loop_.io()); }
    UringCounters counters() {
        UringCounters now;
        inLoop([&] { now = poller().counters(); });
        return now;
    }
    template <class F>
    void inLoop(F fn) {
        Promise<void> done;
        Future<void> future = done.future();
        loop_.execute([fn = std::move(fn), done = std::move(done)]() mutable {
            fn();
            done.setValue();
        });
        ASSERT_TRUE(future.awaitUntil(testDeadline()));
    }

  private:
    CarrierGroup group_;
    EventLoop loop_;
    Future<void> ended_;
};

class UringTransport : public testing::Test {
  protected:
    void SetUp() override {
        CarrierGroup group(carrierOptions("probe", 1));
        EventLoop loop(group.carrier(0), std::make_unique<UringIoHandler>());
        Future<void> ended = loop.start();
        loop.stop();
        try {
            ended.get();
        } catch (const SystemError& error) {
            GTEST_SKIP() << "io_uring is not permitted here: " << error.what();
        }
    }
};

}  // namespace weft::test
