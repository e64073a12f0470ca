// PollerBench: runs one poller under test on its own carrier, with what the checks of poller_checks.hpp need to watch
// it from outside. The bench must never hang with the poller: it abandons a poller that does not end and reports that
// in the verdict.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <weft/scheduler/carrier_group.hpp>

namespace weft::test {

// A sentence that says what is wrong with the poller; empty if nothing is.
using Verdict = std::string;

struct PollerSettings {
    // How long a check waits for something that must happen before it reports a loss. A correct poller never takes that
    // long, however slow the machine.
    std::chrono::milliseconds timeout{20'000};
    std::chrono::milliseconds endTimeout{20'000};  // the same for the end of the poller after stop()
    int rounds = 2000;                             // of each race with going to sleep
    std::uint64_t busySlices = 200'000;            // slices or events of others that prove starvation
};

// An event for a poller under test. The poller's body calls it once, when it reports the event.
using PollerEvent = std::function<void()>;

// The adapter for a poller under test. Default-constructed; destroyed after the poller has ended.
template <class P>
concept PollerUnderTest = std::default_initializable<P> && requires(P poller, const P& seen, Carrier& carrier) {
    // Registers the poller with registerPinnedPoller() and returns its future. Called once, on a plain thread.
    { poller.start(carrier) } -> std::same_as<Future<void>>;
    // Makes the body return soon, whether it sleeps or not. Any thread.
    poller.stop();
    // Injects an I/O event. The poller's next check for I/O must find it, and a sleeping poller must return for it
    // without a wake-up by the carrier. Any thread, also from inside an event.
    poller.inject(PollerEvent());
    // The number of checks for I/O so far, blocking or not. Any thread.
    { seen.looks() } -> std::convertible_to<std::uint64_t>;
    // The number of calls of its wakeup. Any thread; exact once the poller has ended.
    { seen.wakeups() } -> std::convertible_to<std::uint64_t>;
};

// A poller that never blocks by design declares `static constexpr bool sleeps = false`.
template <class P>
constexpr bool pollerSleeps = [] {
    if constexpr (requires { P::sleeps; }) return static_cast<bool>(P::sleeps);
    return true;
}();

// A poller that hosts tasks, as an event loop does. post(): any thread.
template <class P>
concept PollerWithTasks = PollerUnderTest<P> && requires(P poller) {
    poller.post(std::function<void()>());
};

// A poller that may have work without an event, as a handler with leftovers does (IoHandler::hasWork()). After this
// call its body must call `event()` without a wake-up by the carrier. Context: a fiber of its carrier; may suspend it.
template <class P>
concept PollerWithOwnWork = PollerUnderTest<P> && requires(P poller) {
    poller.makeWork(PollerEvent());
};

// A poller that calls `inGap` after each tryParkPoller() that returned true and before its canParkPoller(). `inGap` may
// suspend the poller. onGap() is called before start().
template <class P>
concept PollerWithGap = PollerUnderTest<P> && requires(P poller) {
    poller.onGap(std::function<void()>());
};

// Counts events for threads that wait for them. Fibers hold it by shared pointer, because they may outlive their check.
class Tally {
  public:
    void add() {
        std::lock_guard held(lock_);
        ++count_;
        changed_.notify_all();
    }
    std::uint64_t count() const {
        std::lock_guard held(lock_);
        return count_;
    }
    // Context: a plain thread.
    template <class Rep, class Period>
    [[nodiscard]] bool awaitAtLeast(std::uint64_t count, std::chrono::duration<Rep, Period> timeout) {
        std::unique_lock held(lock_);
        return changed_.wait_for(held, timeout, [&] { return count_ >= count; });
    }

  private:
    mutable std::mutex lock_;
    std::condition_variable changed_;
    std::uint64_t count_ = 0;
};

// Varies the relative timing of two racing threads, by a seed.
class Jitter {
  public:
    explicit Jitter(unsigned seed) : random_(seed) {}
    void pause() {
        for (unsigned spins = random_() % 2048; spins > 0; --spins) std::atomic_signal_fence(std::memory_order_seq_cst);
    }

  private:
    std::minstd_rand random_;
};

inline Verdict describe(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
}

inline CarrierOptions benchOptions() {
    CarrierOptions options;
    options.name = "bench";
    options.carriers = 1;
    return options;
}

template <PollerUnderTest P>
class PollerBench {
  public:
    explicit PollerBench(const PollerSettings& settings) : PollerBench(settings, [](P&) {}) {}
    // Calls `prepare(poller)` before it starts the poller.
    template <class Prepare>
    PollerBench(const PollerSettings& settings, Prepare prepare) : settings_(settings), rig_(std::make_unique<Rig>()) {
        prepare(*rig_->poller);
        ended_ = rig_->poller->start(carrier());
    }
    PollerBench(const PollerBench&) = delete;
    PollerBench& operator=(const PollerBench&) = delete;
    ~PollerBench() {
        if (rig_) finish();
    }

    Carrier& carrier() { return rig_->group.carrier(0); }
    CarrierGroup& group() { return rig_->group; }
    P& poller() { return *rig_->poller; }
    const Future<void>& ended() const { return ended_; }
    const PollerSettings& settings() const { return settings_; }

    // Ends everything. Returns `verdict` or, if that is empty, what was wrong with the end. `expectError`: the body
    // threw.
    Verdict finish(Verdict verdict = {}, bool expectError = false) {
        rig_->poller->stop();
        if (!ended_.awaitFor(settings_.endTimeout)) return leaveBehind(std::move(verdict), "its body does not return");
        if (verdict.empty() && !expectError && ended_.error()) {
            verdict = "its body ended with: " + describe(ended_.error());
        }
        if (!rig_->group.shutdown(settings_.endTimeout)) {
            return leaveBehind(std::move(verdict), "its carrier does not end");
        }
        if (verdict.empty()) verdict = wakeUpsAddUp();
        rig_.reset();
        return verdict;
    }

    // Starts another poller on the same carrier. The former one must have ended.
    void replacePoller() {
        rig_->poller.reset();
        rig_->poller = std::make_unique<P>();
        ended_ = rig_->poller->start(carrier());
        replaced_ = true;
    }

    // Waits until the carrier sleeps with nothing to do.
    [[nodiscard]] Verdict awaitAsleep() {
        auto parks = std::make_shared<std::atomic<std::uint64_t>>(0);
        auto ran = std::make_shared<Tally>();
        carrier().spawnDetached([parks, ran, &carrier = carrier()] {
            parks->store(carrier.stats().parks);
            ran->add();
        });
        if (!ran->awaitAtLeast(1, settings_.timeout)) return "a fiber that another thread spawned did not run";
        const auto end = std::chrono::steady_clock::now() + settings_.timeout;
        while (carrier().stats().parks <= parks->load()) {
            if (std::chrono::steady_clock::now() > end) return "it does not sleep although there is nothing to do";
            std::this_thread::yield();
        }
        return {};
    }

    // Each of `threads` threads calls act(tally, i), which must add one to the tally in time, before its next call.
    template <class Act>
    [[nodiscard]] Verdict race(unsigned threads, const char* lost, Act act) {
        std::vector<Verdict> verdicts(threads);
        std::atomic<bool> stop{false};
        std::vector<std::thread> running;
        for (unsigned t = 0; t < threads; ++t) {
            running.emplace_back([&, t] {
                auto tally = std::make_shared<Tally>();
                Jitter jitter(t + 1);
                const int rounds = settings_.rounds / static_cast<int>(threads);
                for (int i = 0; i < rounds && !stop; ++i) {
                    act(tally, t, i);
                    if (tally->awaitAtLeast(static_cast<std::uint64_t>(i) + 1, settings_.timeout)) {
                        jitter.pause();
                        continue;
                    }
                    verdicts[t] = std::string(lost) + " (round " + std::to_string(i) + ")";
                    stop = true;
                }
            });
        }
        for (auto& thread : running) thread.join();
        for (Verdict& verdict : verdicts) {
            if (!verdict.empty()) return std::move(verdict);
        }
        return {};
    }

  private:
    struct Rig {
        Rig() : group(benchOptions()), poller(std::make_unique<P>()) {}
        CarrierGroup group;
        std::unique_ptr<P> poller;
    };

    Verdict leaveBehind(Verdict verdict, const char* why) {
        static_cast<void>(rig_.release());  // its thread still uses it
        return verdict.empty() ? std::string(why) : std::move(verdict) + "; then " + why;
    }

    // Checks that each call of the wakeup ended a sleep in the poller, and none ended two. A waker may also have ended
    // a sleep that the poller gave up because it found work, so there may be more such ends than stats().parks.
    Verdict wakeUpsAddUp() {
        if (replaced_) return {};
        const std::uint64_t calls = rig_->poller->wakeups();
        const std::uint64_t ended = carrier().stats().wakesPoller;
        if (calls == ended) return {};
        return "its wakeup was called " + std::to_string(calls) + " times for " + std::to_string(ended) +
               " sleeps that a waker ended";
    }

    const PollerSettings settings_;
    std::unique_ptr<Rig> rig_;
    Future<void> ended_;
    bool replaced_ = false;
};

}  // namespace weft::test
