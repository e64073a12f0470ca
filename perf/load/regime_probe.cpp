// Question: which speed regime is this machine in right now? Two threads pinned to two CPUs bounce one cache line;
// on the small shared machines this rig is made for, a round trip costs about 100 ns or about 500 ns, and every other
// figure moves with it. perf/run probes before and after each sample and compares only samples of one regime.
// Prints {"ns_per_round_trip": median over batches, "best_ns": ..., "batches": ...}.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "../support/endpoint.hpp"
#include "clock.hpp"

namespace weft::perf {
namespace {

// Short against a scheduling slice: a preempted batch is an outlier and leaves the median alone.
constexpr int roundsPerBatch = 200;

struct alignas(128) Ball {
    std::atomic<int> turn{0};  // 0: the server's side may strike; 1: the returner's; 2: over
};

void pinTo(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set)) die("pin to CPU", error);
}

std::vector<int> allowedCpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0) die("sched_getaffinity", errno);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

// Waits until `turn` differs from `current`; returns its new value.
int awaitChange(const Ball& ball, int current) {
    int seen;
    while ((seen = ball.turn.load(std::memory_order_acquire)) == current) __builtin_ia32_pause();
    return seen;
}

std::vector<double> play(int cpuA, int cpuB, std::int64_t duration) {
    Ball ball;
    std::thread returner([&ball, cpuB] {
        pinTo(cpuB);
        while (awaitChange(ball, 0) == 1) ball.turn.store(0, std::memory_order_release);
    });
    pinTo(cpuA);
    const auto round = [&ball] {
        ball.turn.store(1, std::memory_order_release);
        awaitChange(ball, 1);
    };
    for (int i = 0; i < roundsPerBatch; ++i) round();  // until both threads run
    std::vector<double> batches;
    const std::int64_t end = now() + duration;
    std::int64_t start = now();
    while (start < end || batches.empty()) {
        for (int i = 0; i < roundsPerBatch; ++i) round();
        const std::int64_t stop = now();
        batches.push_back(static_cast<double>(stop - start) / roundsPerBatch);
        start = stop;
    }
    ball.turn.store(2, std::memory_order_release);
    returner.join();
    return batches;
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "[--ms 20]");
    const long milliseconds = flags.number("--ms", 20, 1, 10000);
    flags.finish();
    const std::vector<int> cpus = allowedCpus();
    if (cpus.size() < 2) die("regime_probe needs two CPUs; this process may use one");
    std::vector<double> batches = play(cpus[0], cpus[1], milliseconds * 1'000'000);
    std::sort(batches.begin(), batches.end());
    std::printf("{\"ns_per_round_trip\": %.1f, \"best_ns\": %.1f, \"batches\": %zu}\n", batches[batches.size() / 2],
                batches.front(), batches.size());
    return 0;
}
