// What does a burst of timers or of posted tasks cost, and how long does it keep the loop from polling? 20,000 fibers
// sleep to deadlines within 10 ms, all of them due when the carrier returns from a task of 12 ms, armed in the order of
// their deadlines or at random (sleepers). wakes: the same without timers. posts: another thread posts 500,000 tasks
// while one task occupies the loop.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace {

using namespace weft;

// Polls nothing, never sleeps, and records the longest time between two polls.
class PollGapRecorder final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard*, Deadline, Budget) override {
        const TimePoint now = Clock::steady().now();
        longest = std::max(longest, now - last);
        last = now;
        return {};
    }
    void wakeup() noexcept override {}
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }

    TimePoint last{};
    Duration longest{};
};

struct Bench {
    Bench() {
        CarrierOptions options;
        options.carriers = 1;
        group = std::make_unique<CarrierGroup>(options);
        auto handler = std::make_unique<PollGapRecorder>();
        polls = handler.get();
        loop = std::make_unique<EventLoop>(group->carrier(0), std::move(handler));
        ended = loop->start();
    }
    ~Bench() {
        loop->stop();
        ended.await();
    }
    // Posts a task that runs `block` and then starts the measurement: `began`, and the longest gap between polls.
    template <class Block>
    void afterBlocking(Block block) {
        loop->execute([this, block] {
            block();
            polls->longest = {};
            polls->last = began = Clock::steady().now();
        });
    }
    void report(benchmark::State& state, TimePoint first, TimePoint last) {
        const auto us = [](Duration time) { return static_cast<double>(time.count()) / 1000; };
        state.SetIterationTime(us(last - began) / 1e6);
        state.counters["first_us"] = us(first - began);
        state.counters["longest_without_poll_us"] = us(polls->longest);
    }

    std::unique_ptr<CarrierGroup> group;
    PollGapRecorder* polls = nullptr;
    std::unique_ptr<EventLoop> loop;
    Future<void> ended;
    TimePoint began{};
};

constexpr int sleeperCount = 20'000;

void sleepers(benchmark::State& state, bool shuffled) {
    constexpr int count = sleeperCount;
    constexpr Duration window = std::chrono::milliseconds(10);
    Bench bench;
    for (auto _ : state) {
        std::vector<int> order(count);
        for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
        if (shuffled) std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
        const TimePoint base = Clock::steady().now() + std::chrono::milliseconds(500);
        TimePoint first = never, last{};
        std::vector<JoinHandle<void>> fibers;
        for (const int at : order) {
            fibers.push_back(bench.group->carrier(0).spawn([&, at] {
                thisFiber::sleepUntil(base + window * at / count);
                last = Clock::steady().now();
                first = std::min(first, last);
            }));
        }
        bench.group->carrier(0).spawn([] { thisFiber::yield(); }).join();  // queued after them: all of them sleep
        std::this_thread::sleep_until(base - std::chrono::milliseconds(2));
        bench.afterBlocking([&] {
            while (Clock::steady().now() < base + window + TimerWheel::tick) {
            }
        });
        for (auto& fiber : fibers) fiber.join();
        bench.report(state, first, last);
    }
}
BENCHMARK_CAPTURE(sleepers, ordered, false)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sleepers, shuffled, true)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

// The same fibers without timers, woken one after the other in the order in which they were spawned, or at random. The
// difference is the cost of the order of their stacks and control blocks in memory.
void wakes(benchmark::State& state, bool shuffled) {
    Bench bench;
    for (auto _ : state) {
        TimePoint first = never, last{};
        std::vector<WakeKey> keys;
        std::vector<JoinHandle<void>> fibers;
        for (int i = 0; i < sleeperCount; ++i) {
            fibers.push_back(bench.group->carrier(0).spawn([&] {
                Suspension wait("wakes");
                keys.push_back(wait.key());
                static_cast<void>(wait.park());
                last = Clock::steady().now();
                first = std::min(first, last);
            }));
        }
        bench.group->carrier(0).spawn([] { thisFiber::yield(); }).join();  // queued after them: all of them wait
        if (shuffled) std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
        bench.afterBlocking([] {});
        bench.loop->execute([&] {
            for (const WakeKey key : keys) key.wake();
        });
        for (auto& fiber : fibers) fiber.join();
        bench.report(state, first, last);
    }
}
BENCHMARK_CAPTURE(wakes, ordered, false)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(wakes, shuffled, true)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

void posts(benchmark::State& state) {
    constexpr int count = 500'000;
    Bench bench;
    for (auto _ : state) {
        std::atomic<bool> posted{false};
        TimePoint first = never, last{};
        int ran = 0;
        Promise<void> done;
        auto allRan = done.future();
        bench.afterBlocking([&] {
            while (!posted) std::this_thread::yield();
        });
        for (int i = 0; i < count; ++i) {
            bench.loop->execute([&] {
                if (ran++ == 0) first = Clock::steady().now();
                if (ran < count) return;
                last = Clock::steady().now();
                done.setValue();
            });
        }
        posted = true;
        allRan.await();
        bench.report(state, first, last);
    }
}
BENCHMARK(posts)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

}  // namespace
