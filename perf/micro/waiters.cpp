// How long does a completion lock a future that 20,000 fibers wait for, and how long does the rest take? The waits are
// claimed under the lock; after it their fibers become runnable (detail/completion.hpp). Here a fiber on the waiters'
// carrier completes, so no other thread takes part.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace {

using namespace weft;

constexpr int waiterCount = 20'000;

struct Condition {
    void await() {
        static_cast<void>(waiters.waitUntil(mutex, never, "Condition::await", [this] { return met; }));
    }

    std::mutex mutex;
    WaitList waiters;
    bool met = false;
};

struct Times {
    double locked = 0;  // us
    double resumed = 0;
};

Times meet(Condition& condition) {
    const TimePoint began = Clock::steady().now();
    condition.mutex.lock();
    condition.met = true;
    WaitList::Woken woken = condition.waiters.claimAll();
    condition.mutex.unlock();
    const TimePoint unlocked = Clock::steady().now();
    woken.resume();
    const auto us = [](Duration time) { return std::chrono::duration<double, std::micro>(time).count(); };
    return {us(unlocked - began), us(Clock::steady().now() - unlocked)};
}

double medianOf(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void completion(benchmark::State& state) {
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    std::vector<double> locked, resumed;
    for (auto _ : state) {
        Condition condition;
        std::vector<JoinHandle<void>> waiters;
        for (int i = 0; i < waiterCount; ++i)
            waiters.push_back(group.carrier(0).spawn([&condition] { condition.await(); }));
        group.carrier(0).spawn([] { thisFiber::yield(); }).join();  // all of them wait
        const Times times = group.carrier(0).spawn([&] { return meet(condition); }).join();
        locked.push_back(times.locked);
        resumed.push_back(times.resumed);
        state.SetIterationTime((times.locked + times.resumed) / 1e6);
        for (auto& waiter : waiters) waiter.join();
    }
    state.counters["locked_us_median"] = medianOf(locked);
    state.counters["locked_us_longest"] = *std::max_element(locked.begin(), locked.end());
    state.counters["resume_us_median"] = medianOf(resumed);
}
BENCHMARK(completion)->UseManualTime()->Iterations(25)->Unit(benchmark::kMicrosecond);

}  // namespace
