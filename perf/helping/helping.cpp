// Question: how does work stealing change the latency of tasks? Runs with and without it alternate in one process.
// Tasks arrive at due times (open loop), each with its own amount of CPU time; latency counts from the due time.
//   helping [--rounds N] [--duration-ms N] [--topology none|linux] [--noise off|on] [--load NAME]
//   helping --trace FILE.json [--load NAME]   one run (default: skewed) with stealing and without noise; writes the
//                                             last 20,000 events of each carrier
// Loads, as shares of one carrier's time:
//   skewed      95 % of one carrier, all of it submitted there; the other one has nothing
//   balanced    50 % of each carrier
//   busy        70 % of each carrier
//   saturated   90 % of each carrier
//   hogged      20 % of one carrier, which also runs a slice of 10 ms every 20 ms
//   ping-pong   two fibers on each carrier that yield to each other; its time is one exchange
// With noise, a thread bound to each CPU uses 1 ms of it every 10 ms, as a system's own work does.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/flight_recorder.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "load/latency_histogram.hpp"
#include "support/burn.hpp"

namespace weft::perf {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct Flags {
    unsigned rounds = 5;
    milliseconds duration{1000};
    std::string topology = "none";
    bool noise = false;
    std::string load;   // empty: all
    std::string trace;  // empty: none
};

struct Result {
    LatencyHistogram times;
    double cpuSeconds = 0;
    std::uint64_t stolen = 0;
    std::uint64_t calls = 0;
};

std::int64_t now() {
    timespec time;
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

double cpuSeconds() {
    rusage usage;
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Times of tasks; written on whichever carrier they end, read once all have been recorded.
class Times {
  public:
    explicit Times(std::size_t most) : values_(most) {}
    void record(std::int64_t nanoseconds) {
        const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index < values_.size()) values_[index] = nanoseconds;
        count_.fetch_add(1, std::memory_order_release);  // after the value
    }
    std::size_t count() const { return count_.load(std::memory_order_acquire); }
    void addTo(LatencyHistogram& histogram) const {
        for (std::size_t i = 0; i < std::min(count(), values_.size()); ++i) histogram.record(values_[i]);
    }

  private:
    std::vector<std::int64_t> values_;
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> count_{0};
};

void sleepUntil(std::int64_t due) {
    const timespec time{due / 1'000'000'000, due % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
    }
}

// Simulates other work on the CPUs of this process, for the lifetime of the object.
class Noise {
  public:
    explicit Noise(bool on) {
        if (!on) return;
        cpu_set_t allowed;
        ::sched_getaffinity(0, sizeof allowed, &allowed);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &allowed)) threads_.emplace_back([this, cpu] { disturb(cpu); });
        }
    }
    ~Noise() {
        over_ = true;
        for (std::thread& thread : threads_) thread.join();
    }

  private:
    void disturb(int cpu) {
        cpu_set_t its;
        CPU_ZERO(&its);
        CPU_SET(cpu, &its);
        ::sched_setaffinity(0, sizeof its, &its);
        for (std::int64_t next = now() + cpu * 3'000'000; !over_; next += 10'000'000) {
            sleepUntil(next);
            burn(milliseconds(1));
        }
    }

    std::vector<std::thread> threads_;
    std::atomic<bool> over_{false};
};

struct Arrivals {
    double perSecond;
    nanoseconds work;
    bool everywhere;      // each carrier has its share; else the first one has all
    nanoseconds hogs{0};  // length of the slice on the first carrier every 20 ms
};

// Poisson arrivals from a thread of their own.
void openLoop(CarrierGroup& group, const Arrivals& arrivals, milliseconds duration, unsigned seed,
              LatencyHistogram& into) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> gap(arrivals.perSecond);
    Times times(static_cast<std::size_t>(arrivals.perSecond * 2 * static_cast<double>(duration.count()) / 1000) + 1000);
    std::size_t sent = 0;
    const std::int64_t began = now();
    const std::int64_t end = began + nanoseconds(duration).count();
    std::int64_t nextHog = began;
    for (double due = static_cast<double>(began); static_cast<std::int64_t>(due) < end; due += gap(random) * 1e9) {
        const auto dueAt = static_cast<std::int64_t>(due);
        if (dueAt > now()) sleepUntil(dueAt);
        if (arrivals.hogs.count() > 0 && dueAt >= nextHog) {
            nextHog += 20'000'000;
            group.carrier(0).spawnDetached([&] { burn(arrivals.hogs); }, {.stealable = Stealable::never});
        }
        Carrier& carrier = group.carrier(arrivals.everywhere ? sent % group.size() : 0);
        carrier.spawnDetached(
            [&times, dueAt, work = arrivals.work] {
                burn(work);
                times.record(now() - dueAt);
            },
            {.stealable = Stealable::fresh});
        ++sent;
    }
    while (times.count() < sent) std::this_thread::sleep_for(milliseconds(1));
    times.addTo(into);
}

void pingPong(CarrierGroup& group, milliseconds duration, LatencyHistogram& into) {
    std::atomic<bool> over{false};
    std::vector<JoinHandle<std::uint64_t>> fibers;
    const std::int64_t began = now();
    for (std::size_t c = 0; c < group.size(); ++c) {
        for (int i = 0; i < 2; ++i) {
            fibers.push_back(group.carrier(c).spawn([&over] {
                std::uint64_t turns = 0;
                for (; !over.load(std::memory_order_relaxed); ++turns) thisFiber::yield();
                return turns;
            }));
        }
    }
    std::this_thread::sleep_for(duration);
    over = true;
    std::uint64_t turns = 0;
    for (auto& fiber : fibers) turns += fiber.join();
    const double each =
        static_cast<double>(now() - began) * static_cast<double>(group.size()) * 2 / static_cast<double>(turns);
    into.record(std::llround(each));
}

struct Load {
    const char* name;
    std::function<void(CarrierGroup&, milliseconds, unsigned, LatencyHistogram&)> run;
};

Load arriving(const char* name, const Arrivals& arrivals) {
    return {name, [arrivals](CarrierGroup& group, milliseconds duration, unsigned seed, LatencyHistogram& into) {
                openLoop(group, arrivals, duration, seed, into);
            }};
}

const std::vector<Load> loads = {
    arriving("skewed", {.perSecond = 4750, .work = microseconds(200), .everywhere = false}),
    arriving("balanced", {.perSecond = 5000, .work = microseconds(200), .everywhere = true}),
    arriving("busy", {.perSecond = 7000, .work = microseconds(200), .everywhere = true}),
    arriving("saturated", {.perSecond = 9000, .work = microseconds(200), .everywhere = true}),
    arriving("hogged", {.perSecond = 4000, .work = microseconds(50), .everywhere = false, .hogs = milliseconds(10)}),
    {"ping-pong", [](CarrierGroup& group, milliseconds duration, unsigned,
                     LatencyHistogram& into) { pingPong(group, duration, into); }},
};

void runOnce(const Load& load, bool stealing, const Flags& flags, unsigned seed, Result& into) {
    CarrierOptions options;
    options.carriers = 2;
    options.workStealing = stealing;
    options.topology = flags.topology;
    CarrierGroup group(options);
    const Noise noise(flags.noise);
    const double before = cpuSeconds();
    load.run(group, flags.duration, seed, into.times);
    into.cpuSeconds += cpuSeconds() - before;
    for (std::size_t c = 0; c < group.size(); ++c) {
        into.stolen += group.carrier(c).stats().stolen;
        into.calls += group.carrier(c).stats().calls;
    }
}

void print(const char* load, bool stealing, const Result& result) {
    std::printf("| %-9s | %-3s | %7llu | %9.1f | %9.1f | %9.1f | %7.2f | %7llu | %7llu |\n", load,
                stealing ? "on" : "off", static_cast<unsigned long long>(result.times.total()),
                result.times.microseconds(0.5), result.times.microseconds(0.99), result.times.microseconds(0.999),
                result.cpuSeconds, static_cast<unsigned long long>(result.stolen),
                static_cast<unsigned long long>(result.calls));
}

[[noreturn]] void refuse(const char* what) {
    std::fprintf(stderr,
                 "helping: %s; accepted: --rounds N, --duration-ms N, --topology none|linux, --noise off|on, --load "
                 "NAME, --trace FILE\n",
                 what);
    std::exit(2);
}

Flags parsed(int argc, char** argv) {
    Flags flags;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) refuse((std::string(argv[i]) + " without a value").c_str());
        if (std::strcmp(argv[i], "--rounds") == 0) {
            flags.rounds = static_cast<unsigned>(std::max(1, std::atoi(argv[i + 1])));
        } else if (std::strcmp(argv[i], "--duration-ms") == 0) {
            flags.duration = milliseconds(std::max(1, std::atoi(argv[i + 1])));
        } else if (std::strcmp(argv[i], "--topology") == 0) {
            flags.topology = argv[i + 1];
        } else if (std::strcmp(argv[i], "--noise") == 0) {
            flags.noise = std::strcmp(argv[i + 1], "on") == 0;
            if (!flags.noise && std::strcmp(argv[i + 1], "off") != 0) refuse(argv[i + 1]);
        } else if (std::strcmp(argv[i], "--load") == 0) {
            flags.load = argv[i + 1];
        } else if (std::strcmp(argv[i], "--trace") == 0) {
            flags.trace = argv[i + 1];
        } else {
            refuse((std::string("unknown argument ") + argv[i]).c_str());
        }
    }
    const auto known = [&](const Load& load) { return load.name == flags.load; };
    if (!flags.load.empty() && std::none_of(loads.begin(), loads.end(), known)) refuse(flags.load.c_str());
    return flags;
}

void trace(const Load& load, const Flags& flags) {
    CarrierOptions options;
    options.carriers = 2;
    options.workStealing = true;
    options.topology = flags.topology;
    options.traceEvents = 20'000;
    CarrierGroup group(options);
    LatencyHistogram times;
    load.run(group, flags.duration, 1, times);
    std::ofstream file(flags.trace);
    writeTrace(group, file);
    if (!file.flush()) throw std::runtime_error("cannot write " + flags.trace);
}

void run(const Flags& flags) {
    if (!flags.trace.empty()) {
        const auto wanted = [&](const Load& load) { return flags.load.empty() || load.name == flags.load; };
        return trace(*std::find_if(loads.begin(), loads.end(), wanted), flags);
    }
    std::printf("| load      | stealing | n | p50 us | p99 us | p99.9 us | CPU s | stolen | calls "
                "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (const Load& load : loads) {
        if (!flags.load.empty() && load.name != flags.load) continue;
        Result results[2];
        for (unsigned round = 0; round < flags.rounds; ++round) {
            for (const bool stealing : {false, true}) runOnce(load, stealing, flags, round, results[stealing]);
        }
        for (const bool stealing : {false, true}) print(load.name, stealing, results[stealing]);
    }
}

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    try {
        weft::perf::run(weft::perf::parsed(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "helping: %s\n", error.what());
        return 1;
    }
}
