// Watchdog: distinguishes a lost wake-up from a slow machine, for long-running tests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <weft/scheduler/carrier_group.hpp>

namespace weft::test {

// Ends the process when nothing has advanced for a minute, and prints the state of every carrier. Advance it each
// round.
class Watchdog {
  public:
    explicit Watchdog(CarrierGroup& group) : group_(group), thread_([this] { watch(); }) {}
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    void advance() noexcept { progress_.fetch_add(1, std::memory_order_relaxed); }

  private:
    void watch();
    void report() const;

    CarrierGroup& group_;
    std::atomic<std::uint64_t> progress_{0};
    std::mutex lock_;
    std::condition_variable end_;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace weft::test
