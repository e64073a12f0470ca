// What does a parked fiber cost? Spawns N fibers that wait for one promise, prints resident memory, mappings and times,
// then wakes them all and checks that each has ended.
//   parked_fibers [--fibers 1000000] [--stack 262144] [--carriers 1]
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace {

using namespace weft;
using Seconds = std::chrono::duration<double>;

struct Options {
    std::size_t fibers = 1'000'000;
    std::size_t stack = 256 * 1024;
    std::size_t carriers = 1;
};

[[noreturn]] void refuse(const std::string& why) {
    std::fprintf(stderr, "parked_fibers: %s\nusage: parked_fibers [--fibers N] [--stack BYTES] [--carriers N]\n",
                 why.c_str());
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string flag = argv[i];
        std::size_t* value = flag == "--fibers"     ? &options.fibers
                             : flag == "--stack"    ? &options.stack
                             : flag == "--carriers" ? &options.carriers
                                                    : nullptr;
        if (value == nullptr) refuse("unknown flag " + flag);
        if (i + 1 == argc) refuse(flag + " needs a number");
        const char* end = argv[i + 1] + std::strlen(argv[i + 1]);
        if (std::from_chars(argv[i + 1], end, *value).ptr != end || *value == 0) {
            refuse(flag + " is '" + argv[i + 1] + "'; accepted: a positive number");
        }
    }
    return options;
}

std::size_t statusKiB(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.compare(0, key.size(), key) == 0) return std::stoul(line.substr(key.size()));
    }
    return 0;
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    while (maps.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) ++count;
    return count;
}

double since(std::chrono::steady_clock::time_point begin) {
    return Seconds(std::chrono::steady_clock::now() - begin).count();
}

void report(const char* state, std::size_t fibers, double seconds, std::size_t baseKiB) {
    const std::size_t residentKiB = statusKiB("VmRSS:");
    const std::size_t tablesKiB = statusKiB("VmPTE:");
    std::printf("%-8s %zu fibers in %.2f s (%.0f ns each); resident %zu MiB (%.2f KiB each), page tables %zu MiB, "
                "virtual %zu GiB, %zu mappings\n",
                state, fibers, seconds, seconds * 1e9 / static_cast<double>(fibers), residentKiB / 1024,
                static_cast<double>(residentKiB - baseKiB) / static_cast<double>(fibers), tablesKiB / 1024,
                statusKiB("VmSize:") / (1024 * 1024), mappings());
    std::fflush(stdout);
}

void run(const Options& wanted) {
    CarrierOptions options;
    options.carriers = static_cast<unsigned>(wanted.carriers);
    options.stackSize = wanted.stack;
    CarrierGroup group(options);
    const std::size_t baseKiB = statusKiB("VmRSS:");

    Promise<void> promise;
    const Future<void> go = promise.future();
    std::vector<JoinHandle<void>> fibers;
    fibers.reserve(wanted.fibers);
    auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < wanted.fibers; ++i) {
        fibers.push_back(group.carrier(i % wanted.carriers).spawn([&go] { go.await(); }));
    }
    const auto parked = [&] {
        std::size_t run = 0;
        for (std::size_t i = 0; i < wanted.carriers; ++i) run += group.carrier(i).stats().run;
        return run >= wanted.fibers;  // each has run once, as far as its wait
    };
    while (!parked()) std::this_thread::yield();
    report("parked", wanted.fibers, since(begin), baseKiB);

    begin = std::chrono::steady_clock::now();
    promise.setValue();
    for (auto& fiber : fibers) fiber.join();
    fibers.clear();
    report("ended", wanted.fibers, since(begin), baseKiB);
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    try {
        run(options);
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "parked_fibers: no memory for %zu fibers; try fewer with --fibers\n", options.fibers);
        return 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "parked_fibers: %s\n", error.what());
        return 1;
    }
}
