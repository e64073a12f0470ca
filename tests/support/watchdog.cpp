#include "support/watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace weft::test {

namespace {

// A minute in short intervals: a process that was stopped for a while loses one of them, not the whole timeout.
constexpr std::chrono::seconds look{1};
constexpr int timeout = 60;

}  // namespace

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
        if (idleLooks == timeout) {
            report();
            std::abort();
        }
    }
}

void Watchdog::report() const {
    std::fprintf(stderr, "no progress for a minute after %llu rounds: parked with work pending?\n",
                 static_cast<unsigned long long>(progress_.load()));
    for (std::size_t i = 0; i < group_.size(); ++i) {
        const CarrierStats stats = group_.carrier(i).stats();
        std::fprintf(
            stderr,
            "  carrier %zu: spawned %llu, finished %llu, run %llu, queued %llu, parks %llu, wakes by futex %llu, "
            "by poller %llu\n",
            i, static_cast<unsigned long long>(stats.spawned), static_cast<unsigned long long>(stats.finished),
            static_cast<unsigned long long>(stats.run), static_cast<unsigned long long>(stats.queueDepth),
            static_cast<unsigned long long>(stats.parks), static_cast<unsigned long long>(stats.wakesFutex),
            static_cast<unsigned long long>(stats.wakesPoller));
    }
}

}  // namespace weft::test
