// What does it cost to complete a future that 20,000 fibers wait for, and how long is another thread kept from that future
// meanwhile? The waiters are claimed under the future's lock and woken after it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace {

using namespace weft;

constexpr int waiterCount = 20'000;

// Asks for the future's value again and again, each time for no time at all, which takes its lock: the longest call until
// the future is done.
class Observer {
  public:
    explicit Observer(const Future<void>& future)
        : thread_([this, future] {
              while (!future.done()) {
                  const TimePoint before = Clock::steady().now();
                  future.awaitUntil(before);
                  longest_ = std::max(longest_, Clock::steady().now() - before);
                  asks_ = true;
              }
          }) {
        while (!asks_) std::this_thread::yield();
    }
    Duration longest() {
        thread_.join();
        return longest_;
    }

  private:
    std::atomic<bool> asks_{false};
    Duration longest_{};
    std::thread thread_;
};

std::vector<JoinHandle<void>> waitersOf(const Future<void>& future, Carrier& carrier) {
    std::vector<JoinHandle<void>> waiters;
    for (int i = 0; i < waiterCount; ++i) waiters.push_back(carrier.spawn([future] { future.await(); }));
    carrier.spawn([] { thisFiber::yield(); }).join();  // all of them wait
    return waiters;
}

void completion(benchmark::State& state) {
    CarrierOptions options;
    options.carriers = 1;
    CarrierGroup group(options);
    Duration longest{};
    for (auto _ : state) {
        Promise<void> promise;
        const Future<void> future = promise.future();
        auto waiters = waitersOf(future, group.carrier(0));
        Observer observer(future);
        const TimePoint before = Clock::steady().now();
        promise.setValue();
        state.SetIterationTime(std::chrono::duration<double>(Clock::steady().now() - before).count());
        longest = std::max(longest, observer.longest());
        for (auto& waiter : waiters) waiter.join();
    }
    state.counters["longest_for_another_us"] = std::chrono::duration<double, std::micro>(longest).count();
}
BENCHMARK(completion)->UseManualTime()->Iterations(20)->Unit(benchmark::kMicrosecond);

}  // namespace
