#include "stuck_carriers.hpp"

#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include <pthread.h>

#include <weft/scheduler/log.hpp>

namespace weft::detail {

namespace {

constexpr Duration longestSample = std::chrono::milliseconds(100);  // takeSample() may need this twice

std::string inWholeMilliseconds(Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::string taskOf(const StackSample& sample) {
    if (sample.fiberId == 0) return "code of the carrier, outside of fibers";
    return (sample.isPoller ? "poller " : "fiber ") + std::to_string(sample.fiberId) + " '" + sample.fiber + "'";
}

}  // namespace

StuckTimer::Event StuckTimer::observe(std::uint64_t progress, bool asleep, Duration step, Duration limit) noexcept {
    // Nothing says how much of the step a carrier has been awake that slept at the last check.
    const bool slept = std::exchange(asleep_, asleep);
    if (asleep || slept || progress != progress_) return goOn(progress);
    if (std::exchange(goesOn_, false)) time_ = {};
    time_ += step;
    if (time_ <= limit || reported_) return Event::none;
    reported_ = true;
    return Event::stuck;
}

StuckTimer::Event StuckTimer::goOn(std::uint64_t progress) noexcept {
    progress_ = progress;
    goesOn_ = true;
    return std::exchange(reported_, false) ? Event::wentOn : Event::none;
}

// Runs on a carrier's thread.
class StuckCarriers::UnblockSignal final : public CarrierRequest {
  public:
    explicit UnblockSignal(int signal) noexcept {
        ::sigemptyset(&signals_);
        ::sigaddset(&signals_, signal);
    }

    void answer(Carrier&) noexcept override {
        ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
        delete this;
    }

  private:
    sigset_t signals_;
};

StuckCarriers::StuckCarriers(CarrierGroup& group, Duration limit, int signal)
    : group_(group), limit_(limit), signal_(signal), timers_(group.size()) {
    if (signal_ == 0) return;
    handleSampleSignal(signal_);
    unblockSignal();
}

void StuckCarriers::unblockSignal() {
    for (std::size_t i = 0; i < group_.size(); ++i) {
        auto request = std::make_unique<UnblockSignal>(signal_);
        if (group_.carrier(i).send(*request)) static_cast<void>(request.release());
    }
}

StuckCarriers::State StuckCarriers::stateOf(const Carrier& carrier) noexcept {
    const CarrierCounters& counters = carrier.counters_;
    return {counters.run.get() + counters.parks.get() + counters.pollerTurns.get() + counters.timersFired.get(),
            carrier.core_.announcedSleep() != SleepKind::none};
}

void StuckCarriers::check(Duration step) noexcept {
    for (std::size_t i = 0; i < group_.size() && !ended(); ++i) {
        try {
            checkOne(group_.carrier(i), step);
        } catch (...) {
            log(LogLevel::error, "the carrier watchdog has no memory for a report");
        }
    }
}

void StuckCarriers::checkOne(const Carrier& carrier, Duration step) {
    const State state = stateOf(carrier);
    const bool ended = carrier.ended_.load(std::memory_order_acquire);
    StuckTimer& timer = timers_[carrier.index()];
    switch (timer.observe(state.progress, state.asleep || ended, step, limit_)) {
        case StuckTimer::Event::none: break;
        case StuckTimer::Event::stuck: report(carrier, timer.time()); break;
        case StuckTimer::Event::wentOn:
            log(LogLevel::warning,
                {"carrier ", carrier.name(), " goes on after ", inWholeMilliseconds(timer.time()), " ms in one task"});
            break;
    }
}

void StuckCarriers::report(const Carrier& carrier, Duration time) const {
    StackSample taken;
    const bool hasStack = sample(carrier, taken);
    log(LogLevel::warning, {"carrier ", carrier.name(), " has been in one task for ", inWholeMilliseconds(time),
                            " ms: ", hasStack ? taskOf(taken) : "its stack could not be taken"});
    for (std::size_t i = 0; i < taken.frames.size(); ++i) {
        log(LogLevel::warning, {"  ", carrier.name(), " #", std::to_string(i), " ", describeFrame(taken.frames[i])});
    }
}

bool StuckCarriers::sample(const Carrier& carrier, StackSample& sample) const {
    const int threadId = carrier.threadId_.load(std::memory_order_relaxed);
    return signal_ != 0 && threadId != 0 && takeSample(threadId, signal_, longestSample, sample);
}

}  // namespace weft::detail
