// What does it cost to hand work to another carrier? To one that is awake, the time of the caller alone: a fiber of the
// other carrier made runnable, and a fiber spawned there. To one that sleeps, the round trip of two fibers that wake
// each other; its floor is that of two threads over blocking eventfds. Run it with two CPUs that are otherwise idle.
#include <benchmark/benchmark.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace {

using namespace weft;

constexpr int batch = 64;
constexpr int rounds = 2000;  // a round waits for the other carrier, which takes far longer than what is measured

CarrierGroup& twoCarriers() {
    static CarrierGroup group([] {
        CarrierOptions options;
        options.carriers = 2;
        return options;
    }());
    return group;
}

// Runs the benchmark's loop in a fiber of carrier 0; `other` is carrier 1.
template <class Body>
void acrossCarriers(Body body) {
    CarrierGroup& group = twoCarriers();
    group.carrier(0).spawn([&] { body(group.carrier(1)); }).join();
}

// A fiber that keeps its carrier awake until it is destroyed.
class Awake {
  public:
    explicit Awake(Carrier& carrier)
        : fiber_(carrier.spawn([this] {
              while (!stop_.load(std::memory_order_relaxed)) thisFiber::yield();
          })) {}
    ~Awake() {
        stop_.store(true, std::memory_order_relaxed);
        fiber_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    JoinHandle<void> fiber_;
};

void waitUntil(const std::atomic<std::uint64_t>& count, std::uint64_t wanted) {
    while (count.load(std::memory_order_acquire) < wanted) thisFiber::yield();
}

// An iteration hands over `batch` times; the counter has the time of one.
template <class HandOver>
void timed(benchmark::State& state, HandOver handOver) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < batch; ++i) handOver(i);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    state.counters["each"] =
        benchmark::Counter(batch, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void wakeFiberOfAwakeCarrier(benchmark::State& state) {
    acrossCarriers([&](Carrier& other) {
        const Awake awake(other);
        std::array<WakeKey, batch> keys;
        std::atomic<std::uint64_t> waiting{0};
        std::atomic<bool> stop{false};
        std::vector<JoinHandle<void>> fibers;
        for (WakeKey& key : keys) {
            fibers.push_back(other.spawn([&] {
                while (!stop.load(std::memory_order_relaxed)) {
                    Suspension wait("the next round");
                    key = wait.key();
                    waiting.fetch_add(1, std::memory_order_release);
                    wait.park();
                }
            }));
        }
        std::uint64_t round = 0;
        for (auto _ : state) {
            waitUntil(waiting, ++round * batch);
            timed(state, [&](int i) { keys[static_cast<std::size_t>(i)].wake(); });
        }
        waitUntil(waiting, ++round * batch);
        stop.store(true, std::memory_order_relaxed);
        for (WakeKey& key : keys) key.wake();
        for (auto& fiber : fibers) fiber.join();
    });
}
BENCHMARK(wakeFiberOfAwakeCarrier)->UseManualTime()->Iterations(rounds);

void spawnOnAwakeCarrier(benchmark::State& state) {
    acrossCarriers([&](Carrier& other) {
        const Awake awake(other);
        std::atomic<std::uint64_t> ended{0};
        std::uint64_t round = 0;
        for (auto _ : state) {
            timed(state,
                  [&](int) { other.spawnDetached([&ended] { ended.fetch_add(1, std::memory_order_release); }); });
            waitUntil(ended, ++round * batch);
        }
    });
}
BENCHMARK(spawnOnAwakeCarrier)->UseManualTime()->Iterations(rounds);

void roundTripOfSleepingCarriers(benchmark::State& state) {
    acrossCarriers([&](Carrier& other) {
        WakeKey here, there;  // each is written before the wake that lets the other side use it
        bool stop = false;
        Suspension first("the partner's start");
        here = first.key();
        auto partner = other.spawn([&] {
            while (!stop) {
                Suspension wait("the next ball");
                there = wait.key();
                here.wake();
                wait.park();
            }
        });
        first.park();
        for (auto _ : state) {
            Suspension wait("the ball's return");
            here = wait.key();
            there.wake();
            wait.park();
        }
        stop = true;
        there.wake();
        partner.join();
    });
}
BENCHMARK(roundTripOfSleepingCarriers)->UseRealTime();

void write(int fd) {
    const std::uint64_t one = 1;
    if (::write(fd, &one, sizeof one) != sizeof one) throw std::runtime_error("eventfd write");
}
void read(int fd) {
    std::uint64_t count = 0;
    if (::read(fd, &count, sizeof count) != sizeof count) throw std::runtime_error("eventfd read");
}

void roundTripOverEventfds(benchmark::State& state) {
    const int there = ::eventfd(0, EFD_CLOEXEC);
    const int back = ::eventfd(0, EFD_CLOEXEC);
    std::atomic<bool> stop{false};
    std::thread partner([&] {
        for (;;) {
            read(there);
            if (stop.load(std::memory_order_relaxed)) return;
            write(back);
        }
    });
    for (auto _ : state) {
        write(there);
        read(back);
    }
    stop.store(true, std::memory_order_relaxed);
    write(there);
    partner.join();
    ::close(there);
    ::close(back);
}
BENCHMARK(roundTripOverEventfds)->UseRealTime();

}  // namespace
