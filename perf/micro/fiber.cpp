// What does a fiber cost? A switch, a spawn with its join, a yield, a park with its wake-up; all on one carrier.
// Floors: raw context switch 5.5 ns one way, make + run + back on a pooled stack 15.5 ns.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "context_switch.hpp"  // private to the scheduler

namespace {

using namespace weft;

CarrierGroup& oneCarrier() {
    static CarrierGroup group([] {
        CarrierOptions options;
        options.carriers = 1;
        return options;
    }());
    return group;
}

// Runs the benchmark's loop inside a fiber.
template <class Body>
void inFiber(Body body) {
    oneCarrier().carrier(0).spawn([&] { body(oneCarrier().carrier(0)); }).join();
}

// There and back between the thread and one context, without a scheduler: two switches.
void twoSwitches(benchmark::State& state) {
    static detail::FiberContext thread, other;
    constexpr std::size_t size = 64 * 1024;
    const auto stack = std::make_unique<std::byte[]>(size);
    detail::keepFloatControl(thread);
    other = detail::FiberContext(thread.floatControl, stack.get(), stack.get() + size, nullptr);
    detail::prepareFirstJump(other, stack.get() + size,
                             [](detail::FiberContext* from, detail::FiberContext* self) noexcept {
                                 detail::arrive(*self, *from);
                                 for (;;) detail::switchAway(other, thread);
                             });
    constexpr int batch = 1000;
    while (state.KeepRunningBatch(batch)) {
        detail::adoptThreadContext(
            thread);  // without the status flags of earlier arithmetic, which a switch would load
        for (int i = 0; i < batch; ++i) detail::switchAway(thread, other);
    }
}
BENCHMARK(twoSwitches);

void spawnAndJoin(benchmark::State& state) {
    inFiber([&](Carrier& carrier) {
        for (auto _ : state) carrier.spawn([] {}).join();
    });
}
BENCHMARK(spawnAndJoin);

void spawnDetachedAndRun(benchmark::State& state) {
    inFiber([&](Carrier& carrier) {
        for (auto _ : state) {
            carrier.spawnDetached([] {});
            thisFiber::yield();
        }
    });
}
BENCHMARK(spawnDetachedAndRun);

void yieldAlone(benchmark::State& state) {
    inFiber([&](Carrier&) {
        for (auto _ : state) thisFiber::yield();
    });
}
BENCHMARK(yieldAlone);

// Many fibers yield in turn: the cost of one yield among 64.
void yieldAmong64(benchmark::State& state) {
    inFiber([&](Carrier& carrier) {
        bool stop = false;
        std::vector<JoinHandle<void>> others;
        for (int i = 0; i < 63; ++i) {
            others.push_back(carrier.spawn([&] {
                while (!stop) thisFiber::yield();
            }));
        }
        for (auto _ : state) thisFiber::yield();
        state.SetItemsProcessed(state.iterations() * 64);
        stop = true;
        for (auto& other : others) other.join();
    });
}
BENCHMARK(yieldAmong64);

// Two fibers wake each other: park, claim, enqueue, switch.
void parkAndWake(benchmark::State& state) {
    inFiber([&](Carrier& carrier) {
        bool stop = false;
        WakeKey other;
        auto partner = carrier.spawn([&] {
            while (!stop) {
                Suspension wait("partner");
                other = wait.key();
                wait.park();
            }
        });
        thisFiber::yield();
        for (auto _ : state) {
            other.wake();
            thisFiber::yield();
        }
        stop = true;
        other.wake();
        partner.join();
    });
}
BENCHMARK(parkAndWake);

}  // namespace
