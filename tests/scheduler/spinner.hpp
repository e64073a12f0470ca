// Spinner: a fiber that occupies its carrier.
#pragma once

#include <atomic>
#include <thread>

#include <weft/scheduler/carrier.hpp>

namespace weft::test {

// From the end of the constructor until the destructor the carrier runs this fiber and nothing else.
class Spinner {
  public:
    explicit Spinner(Carrier& carrier)
        : fiber_(carrier.spawn([this] { spin(); }, {.name = "spinner", .stealable = Stealable::never})) {
        while (!spins_.load(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Spinner() {
        ends_.store(true, std::memory_order_release);
        fiber_.join();
    }
    Spinner(const Spinner&) = delete;
    Spinner& operator=(const Spinner&) = delete;

  private:
    [[gnu::noinline]] void spin() {
        spins_.store(true, std::memory_order_release);
        while (!ends_.load(std::memory_order_acquire)) std::this_thread::yield();
    }

    std::atomic<bool> spins_{false};
    std::atomic<bool> ends_{false};
    JoinHandle<void> fiber_;
};

}  // namespace weft::test
