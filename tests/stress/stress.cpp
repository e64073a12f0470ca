#include "stress/stress.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "support/sanitized.hpp"

namespace weft::stress {

namespace {

#ifdef WEFT_SANITIZED
double wantedRounds = 20'000;
#else
double wantedRounds = 200'000;
#endif
std::uint32_t wantedSeed = 0;

// A minute in short looks: a process that was stopped for a while has lost one of them, and not its patience.
constexpr std::chrono::seconds look{1};
constexpr int patience = 60;

const char* value(int& argc, char** argv, int at) {
    if (at + 1 >= argc) {
        std::fprintf(stderr, "%s: %s needs a number\n", argv[0], argv[at]);
        std::exit(2);
    }
    return argv[at + 1];
}

double positive(const char* program, const char* flag, const char* text) {
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    if (*end != '\0' || end == text || !(number >= 1) || number > 1e15) {
        std::fprintf(stderr, "%s: %s is '%s'; accepted: a number from 1 to 1e15, such as 1e8\n", program, flag, text);
        std::exit(2);
    }
    return number;
}

// Takes its own flags out of the command line; what is left is GoogleTest's.
void parse(int& argc, char** argv) {
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--rounds") == 0) {
            wantedRounds = positive(argv[0], "--rounds", value(argc, argv, i++));
        } else if (std::strcmp(argv[i], "--seed") == 0) {
            wantedSeed = static_cast<std::uint32_t>(positive(argv[0], "--seed", value(argc, argv, i++)));
        } else {
            argv[kept++] = argv[i];
        }
    }
    argc = kept;
}

}  // namespace

std::uint64_t rounds(double share) {
    return static_cast<std::uint64_t>(std::max(1.0, wantedRounds * share));
}

std::uint32_t seed() {
    const std::uint32_t chosen = wantedSeed != 0 ? wantedSeed : std::random_device{}();
    testing::Test::RecordProperty("seed", std::to_string(chosen));
    std::printf("seed %u\n", chosen);
    return chosen;
}

Watchdog::~Watchdog() {
    {
        std::lock_guard held(lock_);
        ended_ = true;
    }
    end_.notify_all();
    thread_.join();
}

void Watchdog::watch() {
    std::unique_lock held(lock_);
    std::uint64_t seen = 0;
    int idleLooks = 0;
    while (!end_.wait_for(held, look, [this] { return ended_; })) {
        const std::uint64_t now = progress_.load(std::memory_order_relaxed);
        idleLooks = now == seen ? idleLooks + 1 : 0;
        seen = now;
        if (idleLooks == patience) {
            report();
            std::abort();
        }
    }
}

void Watchdog::report() const {
    std::fprintf(stderr, "stress: no progress for a minute after %llu rounds: parked with work pending?\n",
                 static_cast<unsigned long long>(progress_.load()));
    for (std::size_t i = 0; i < group_.size(); ++i) {
        const CarrierStats stats = group_.carrier(i).stats();
        std::fprintf(stderr,
                     "  carrier %zu: spawned %llu, finished %llu, run %llu, queued %llu, parks %llu, wakes by futex %llu, "
                     "by poller %llu\n",
                     i, static_cast<unsigned long long>(stats.spawned), static_cast<unsigned long long>(stats.finished),
                     static_cast<unsigned long long>(stats.run), static_cast<unsigned long long>(stats.queueDepth),
                     static_cast<unsigned long long>(stats.parks), static_cast<unsigned long long>(stats.wakesFutex),
                     static_cast<unsigned long long>(stats.wakesPoller));
    }
}

}  // namespace weft::stress

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    weft::stress::parse(argc, argv);
    if (argc > 1) {
        std::fprintf(stderr, "%s: unknown argument '%s'; accepted: --rounds N, --seed N and GoogleTest's flags\n",
                     argv[0], argv[1]);
        return 2;
    }
    return RUN_ALL_TESTS();
}
