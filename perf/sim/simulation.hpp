// Simulation: processes take turns on one thread, in the order of a simulated clock. A process is a stackful context
// that advances the clock or waits; between two such calls no other process runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>

namespace weft::perf::sim {

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds forever = INT64_MAX;

class Process {
  public:
    // `cpu`: the CPU whose caches it uses; -1: accesses are free (load from outside).
    explicit Process(int cpu) : cpu(cpu) {}

    const int cpu;

  private:
    friend class Simulation;
    boost::context::fiber context_;
    std::uint64_t turns_ = 0;  // events of an earlier turn are ignored
    Nanoseconds unspent_ = 0;  // time used since the clock was last advanced for it
};

class Simulation {
  public:
    // The simulation whose process runs; for code that cannot be passed one (operations of atomics).
    static Simulation& current() { return *current_; }

    // Starts body() at the present time.
    void start(Process& process, std::function<void()> body) {
        process.context_ = boost::context::fiber([this, body = std::move(body)](boost::context::fiber&& main) {
            main_ = std::move(main);
            body();
            return std::move(main_);
        });
        schedule(process, now_);
    }

    // Runs until all processes have ended or wait without an event.
    void run() {
        current_ = this;
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            if (event.turn != event.process->turns_) continue;
            now_ = event.time;
            ++event.process->turns_;
            running_ = event.process;
            event.process->context_ = std::move(event.process->context_).resume();
        }
        current_ = nullptr;
    }

    // The functions below are for the running process.
    Nanoseconds now() const { return now_ + running_->unspent_; }
    int cpu() const { return running_->cpu; }

    // Spends time; other processes run meanwhile.
    void advance(Nanoseconds time) {
        const Nanoseconds until = now() + time;
        running_->unspent_ = 0;
        while (now_ < until) suspend(until);
    }
    // Adds up short times; advances the clock once they reach `resolution`.
    void charge(Nanoseconds time) {
        running_->unspent_ += time;
        if (running_->unspent_ >= resolution) advance(0);
    }
    // Waits for wake() or until `deadline`. May return spuriously, so the caller checks.
    void wait(Nanoseconds deadline) {
        running_->unspent_ = 0;
        suspend(deadline);
    }
    // Ends a wait of `process` at `time`.
    void wake(Process& process, Nanoseconds time) { schedule(process, time); }

  private:
    static constexpr Nanoseconds resolution = 100;

    struct Event {
        Nanoseconds time;
        std::uint64_t number;  // first come, first served
        Process* process;
        std::uint64_t turn;
        bool operator<(const Event& other) const {
            return std::pair(time, number) > std::pair(other.time, other.number);
        }
    };

    void schedule(Process& process, Nanoseconds time) { events_.push({time, number_++, &process, process.turns_}); }
    void suspend(Nanoseconds until) {
        if (until != forever) schedule(*running_, until);
        main_ = std::move(main_).resume();
    }

    static inline Simulation* current_ = nullptr;
    std::priority_queue<Event> events_;
    std::uint64_t number_ = 0;
    Nanoseconds now_ = 0;
    Process* running_ = nullptr;
    boost::context::fiber main_;
};

}  // namespace weft::perf::sim
