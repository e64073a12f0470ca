// Machine: the cost of memory accesses and wake-ups on the simulated CPUs. An atomic is a cache line: one CPU writes it
// at a time, and reading a value that another CPU wrote is a transfer.
#pragma once

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "simulation.hpp"

namespace weft::perf::sim {

inline constexpr std::size_t mostCarriers = 256;

// In nanoseconds.
struct Costs {
    Nanoseconds hit = 1;              // an access to a line in the CPU's own cache
    Nanoseconds exchange = 6;         // a read-modify-write of such a line
    Nanoseconds nearTransfer = 40;    // a line from a CPU of the same last-level cache
    Nanoseconds farTransfer = 130;    // ... of another one
    Nanoseconds sharedTransfer = 10;  // how long a line is busy with one of its readers
    Nanoseconds wakeCall = 1'500;     // cost for the caller of waking a CPU
    Nanoseconds wakeLatency = 5'000;  // time until the woken carrier runs
    Nanoseconds poll = 700;           // a poll of a carrier's sockets
    Nanoseconds fiberSwitch = 60;
    Nanoseconds nearMove = 1'000;  // extra cost of a fiber on another carrier: cold lines
    Nanoseconds farMove = 3'000;
};

class Machine {
  public:
    Machine(const Costs& costs, unsigned carriers, unsigned clusters) : costs(costs), perCluster_(carriers / clusters) {
        current_ = this;
    }
    static Machine& current() { return *current_; }

    bool isNear(unsigned one, unsigned other) const { return one / perCluster_ == other / perCluster_; }
    Nanoseconds transfer(unsigned from, unsigned to) const {
        return isNear(from, to) ? costs.nearTransfer : costs.farTransfer;
    }
    Nanoseconds move(unsigned from, unsigned to) const { return isNear(from, to) ? costs.nearMove : costs.farMove; }

    const Costs costs;

  private:
    static inline Machine* current_ = nullptr;
    const unsigned perCluster_;
};

// Which caches hold a line, and until when it is busy: accesses to one line wait for each other.
class Line {
  public:
    void read() const { use(false); }
    void write(bool exchange) const { use(true, exchange); }

  private:
    void use(bool exclusive, bool exchange = false) const {
        Simulation& simulation = Simulation::current();
        if (simulation.cpu() < 0) return;
        const auto cpu = static_cast<unsigned>(simulation.cpu());
        const Costs& costs = Machine::current().costs;
        const bool hit = holders_.test(cpu) && (!exclusive || holders_.count() == 1);
        Nanoseconds cost = exchange ? costs.exchange : costs.hit;
        if (!hit) {
            const Nanoseconds now = simulation.now();
            const Nanoseconds begins = std::max(now, freeAt_);
            const Nanoseconds takes =
                owner_ < 0 ? costs.nearTransfer : Machine::current().transfer(static_cast<unsigned>(owner_), cpu);
            freeAt_ = begins + (exclusive ? takes : costs.sharedTransfer);
            cost += begins + takes - now;
        }
        if (exclusive) {
            holders_.reset();
            owner_ = static_cast<int>(cpu);
        }
        holders_.set(cpu);
        simulation.charge(cost);
    }

    mutable std::bitset<mostCarriers> holders_;
    mutable int owner_ = -1;
    mutable Nanoseconds freeAt_ = 0;
};

// The atomics policy of the protocol cores: plain values that charge for their lines.
struct SimulatedAtomics {
    template <class T>
    class Atomic {
      public:
        Atomic() = default;
        Atomic(T value) : value_(value) {}
        Atomic(const Atomic&) = delete;
        Atomic& operator=(const Atomic&) = delete;

        T load(std::memory_order) const {
            line_.read();
            return value_;
        }
        void store(T value, std::memory_order) {
            line_.write(false);
            value_ = value;
        }
        T exchange(T value, std::memory_order) {
            return update([&](T) { return value; });
        }
        T fetch_add(T value, std::memory_order) {
            return update([&](T old) { return static_cast<T>(old + value); });
        }
        T fetch_sub(T value, std::memory_order) {
            return update([&](T old) { return static_cast<T>(old - value); });
        }
        T fetch_or(T value, std::memory_order) {
            return update([&](T old) { return static_cast<T>(old | value); });
        }
        T fetch_and(T value, std::memory_order) {
            return update([&](T old) { return static_cast<T>(old & value); });
        }
        bool compare_exchange_weak(T& expected, T value, std::memory_order success, std::memory_order failure) {
            return compare_exchange_strong(expected, value, success, failure);
        }
        bool compare_exchange_strong(T& expected, T value, std::memory_order, std::memory_order) {
            line_.write(true);
            if (value_ != expected) {
                expected = value_;
                return false;
            }
            value_ = value;
            return true;
        }

      private:
        template <class Next>
        T update(Next next) {
            line_.write(true);
            const T old = value_;
            value_ = next(old);
            return old;
        }
        T value_{};
        Line line_;
    };
    template <class T>
    using Plain = T;
    using Mutex = std::mutex;
};

}  // namespace weft::perf::sim
