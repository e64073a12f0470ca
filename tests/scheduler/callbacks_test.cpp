// Every callback that the scheduler makes is refused a wait, also when a fiber makes it: a callback that suspended
// would let others into a wheel, a list or a lock that is in the middle of a change.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <weft/scheduler/cancel_token.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/io_handler_decorator.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/sync/watch.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/scheduler/timer_wheel.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

// What the callbacks of one case have found.
std::atomic<int> made{0};
std::atomic<int> mayWait{0};
std::atomic<int> waited{0};

// The body of each callback.
void callback() noexcept {
    if (Carrier::current() == nullptr) return;  // a plain thread may wait
    ++made;
    if (Suspension::allowed()) ++mayWait;
    try {
        thisFiber::yield();
        ++waited;
    } catch (const BlockingOperationException&) {
    } catch (const std::exception&) {
    }
}

struct NotedTimer final : TimerEntry {
    NotedTimer() : TimerEntry(&NotedTimer::fired) {}
    static void fired(TimerEntry& entry) noexcept {
        callback();
        static_cast<NotedTimer&>(entry).done = true;
    }
    std::atomic<bool> done{false};
};

class Callbacks : public testing::Test {
  public:
    // Runs `body` in a fiber. Expects that at least `least` callbacks were made on carriers, and that none may wait.
    template <class F>
    void expectRefused(const char* what, F body, int least = 1) {
        made = mayWait = waited = 0;
        group.carrier(0).spawn(std::move(body)).join();
        EXPECT_GE(made, least) << what;
        EXPECT_EQ(mayWait, 0) << what;
        EXPECT_EQ(waited, 0) << what;
    }
    Carrier& other() { return group.carrier(1); }

    CarrierGroup group{twoCarriers()};

  private:
    static CarrierOptions twoCarriers() {
        CarrierOptions options;
        options.carriers = 2;
        return options;
    }
};

TEST_F(Callbacks, OfTimersMayNotWait) {
    expectRefused("fired by the carrier", [] {
        NotedTimer timer;
        Carrier::current()->timers().arm(timer, Clock::steady().now());
        while (!timer.done) thisFiber::yield();
    });
    expectRefused("fired in maybeYield()", [this] {
        other()
            .registerPinnedPoller([] {},
                                  [this](PinnedPoller& poller) {
                                      NotedTimer timer;
                                      other().timers().arm(timer, Clock::steady().now());
                                      while (!timer.done) poller.maybeYield(false);
                                  })
            .await();
    });
}

TEST_F(Callbacks, OfPollersMayNotWait) {
    expectRefused("the wakeup", [this] {
        std::atomic<bool> asleep{false};
        std::atomic<bool> woken{false};
        const auto wakeup = [&woken] {
            callback();
            woken = true;
        };
        Future<void> ended = other().registerPinnedPoller(wakeup, [&](PinnedPoller& poller) {
            while (!poller.tryParkPoller()) poller.maybeYield(false);
            asleep = true;
            while (!woken) std::this_thread::yield();  // as a system call would
            poller.unpark();
        });
        while (!asleep) std::this_thread::yield();
        other().spawn([] {}).join();
        ended.await();
    });
}

class NotedHandler final : public IoHandlerDecorator {
  public:
    NotedHandler() : IoHandlerDecorator(std::make_unique<test::IdleIoHandler>()) {}
    void open(Carrier& carrier) override {
        callback();
        IoHandlerDecorator::open(carrier);
    }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        callback();
        return IoHandlerDecorator::poll(guard, deadline, budget);
    }
    void wakeup() noexcept override {
        callback();
        IoHandlerDecorator::wakeup();
    }
    void closeChannels() override {
        callback();
        IoHandlerDecorator::closeChannels();
    }
    void prepareToClose() override {
        callback();
        IoHandlerDecorator::prepareToClose();
    }
    void close() override {
        callback();
        IoHandlerDecorator::close();
    }
};

struct NotedFlush final : FlushPointListener {
    void onFlushPoint() noexcept override { callback(); }
};

TEST_F(Callbacks, OfAnEventLoopMayNotWait) {
    NotedFlush flush;
    std::optional<EventLoop> loop;
    expectRefused(
        "of a hosted loop",
        [&] {
            loop.emplace(other(), std::make_unique<NotedHandler>());
            Future<void> ended = loop->start();
            Promise<void> ran;
            loop->execute([&] {
                callback();
                loop->requestFlushPoint(flush);
                loop->schedule(
                    [&] {
                        callback();
                        ran.setValue();
                    },
                    Duration(0));
            });
            ran.future().await();
            loop->shutdownGracefully(Duration(0), Duration(0));
            ended.await();
        },
        8);
    expectRefused("of an embedded loop that a fiber runs", [] {
        ManualClock clock;
        EventLoop embedded(clock);
        embedded.execute(callback);
        embedded.schedule(callback, Duration(0));
        embedded.runTasks();
    });
}

TEST_F(Callbacks, OfFuturesAndCancellationsMayNotWait) {
    expectRefused("a listener", [] {
        Promise<void> promise;
        promise.future().addListener([](const Future<void>&) { callback(); });
        promise.setValue();
    });
    expectRefused("a CancelCallback", [] {
        CancelSource source;
        const CancelCallback called(source.token(), callback);
        source.cancel();
    });
}

struct NotedService {
    NotedService() { callback(); }
};
struct NotedEnd {
    NotedEnd() = default;
    NotedEnd(NotedEnd&& other) noexcept : notes(std::exchange(other.notes, false)) {}
    ~NotedEnd() {
        if (notes) callback();
    }
    bool notes = true;
};

TEST_F(Callbacks, OfCarriersMayNotWait) {
    expectRefused("the constructor of a service", [] { (void)Carrier::current()->local<NotedService>(); });
    expectRefused("the end of a result that nothing receives", [this] {
        other().spawnDetached([] { return NotedEnd(); });
        while (made < 1) std::this_thread::yield();
    });
    expectRefused("a sink of the log", [] {
        setLogSink([](LogLevel, std::string_view) noexcept { callback(); });
        log(LogLevel::info, "a line");
        setLogSink(nullptr);
    });
}

TEST_F(Callbacks, OfClocksAndCellsMayNotWait) {
    expectRefused("a clock's listener", [] {
        struct Listener final : ClockListener {
            void onClockMoved() noexcept override { callback(); }
        } listener;
        ManualClock clock;
        clock.addListener(listener);
        clock.advance(Duration(1));
        clock.removeListener(listener);
    });
    expectRefused("a change of a Watch", [] {
        sync::Watch<int> cell(1);
        cell.modify([](int&) { callback(); });
    });
}

}  // namespace
}  // namespace weft
