// Execution, the part that decides which thread takes the next step, and implements waiting.
#include "execution.hpp"

namespace weft::model {

bool independent(const Footprint& a, const Footprint& b) noexcept {
    if (a.resource == Footprint::everything || b.resource == Footprint::everything) return false;
    if ((a.isFence && b.sequential) || (b.isFence && a.sequential)) return false;
    if (a.resource == Footprint::nothing || b.resource == Footprint::nothing || a.resource != b.resource) return true;
    return !a.writes && !b.writes && !(a.sequential && b.sequential);
}

bool Execution::othersFinished() const noexcept {
    for (unsigned i = 1; i < threadCount_; ++i) {
        if (!threads_[i].finished) return false;
    }
    return true;
}

bool Execution::isEnabled(const Thread& thread) const noexcept {
    if (thread.finished) return false;
    switch (thread.wait) {
        case Wait::none: return true;
        case Wait::futex: return thread.woken || thread.timed;
        case Wait::event: return resources_[thread.resource].set || thread.timed;
        case Wait::mutex: return !resources_[thread.resource].set;
        case Wait::change: return memory_.watchedHasChanged(static_cast<unsigned>(&thread - threads_.data()));
        case Wait::threads: return othersFinished();
    }
    return false;
}

// The thread that ran last comes first: continuing it is no preemption.
unsigned Execution::listRunnable(std::array<std::uint8_t, maxThreads>& list, bool yielded) const noexcept {
    unsigned count = 0;
    const auto consider = [&](unsigned i) {
        if ((yielded || !threads_[i].yielded) && isEnabled(threads_[i])) list[count++] = static_cast<std::uint8_t>(i);
    };
    if (self_ != host) consider(self_);
    for (unsigned i = 0; i < threadCount_; ++i) {
        if (i != self_) consider(i);
    }
    return count;
}

unsigned Execution::pickNext() {
    std::array<std::uint8_t, maxThreads> list;
    unsigned count = listRunnable(list, false);
    if (count == 0) count = listRunnable(list, true);
    if (count == 0) return nobodyCanRun();
    if (rules_.skipRedundant && (count = withoutSleeping(list, count)) == 0) return host;

    const bool couldGoOn = list[0] == self_;
    const bool mayPreempt = rules_.skipRedundant || preemptions_ < rules_.preemptions;
    const unsigned taken = choices_.pickThread({list.data(), count}, couldGoOn && !mayPreempt ? 1 : count);
    if (couldGoOn && taken != 0) ++preemptions_;
    if (rules_.skipRedundant) updateSleeping(list, taken);
    for (unsigned i = 0; i < threadCount_; ++i) threads_[i].yielded = threads_[i].yielded && list[taken] == i;
    threads_[list[taken]].yielded = false;
    return list[taken];
}

unsigned Execution::withoutSleeping(std::array<std::uint8_t, maxThreads>& list, unsigned count) {
    unsigned awake = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (!(sleeping_ >> list[i] & 1)) list[awake++] = list[i];
    }
    if (awake == 0) over_ = redundant_ = true;
    return awake;
}

// The alternatives before the taken one have been explored: they sleep until a step comes that is not independent.
void Execution::updateSleeping(const std::array<std::uint8_t, maxThreads>& list, unsigned taken) noexcept {
    unsigned candidates = sleeping_;
    for (unsigned i = 0; i < taken; ++i) candidates |= 1u << list[i];
    sleeping_ = 0;
    for (unsigned i = 0; i < threadCount_; ++i) {
        const bool stays = (candidates >> i & 1) && independent(threads_[i].next, threads_[list[taken]].next);
        if (stays) sleeping_ |= static_cast<std::uint8_t>(1u << i);
    }
}

unsigned Execution::nobodyCanRun() {
    over_ = true;
    if (!memory_.hasOpenPromises()) record(FailureKind::deadlock, whoWaits());
    return host;
}

void Execution::step(Footprint footprint) {
    if (phase_ != Phase::running && phase_ != Phase::starting) return;
    Thread& self = threads_[self_];
    self.next = footprint;
    if (phase_ == Phase::starting) return switchToHost();
    if (++steps_ > rules_.steps) fail(FailureKind::livelock, "no end after " + std::to_string(rules_.steps) + " steps");
    const unsigned next = pickNext();
    if (next == self_) return;
    next_ = next;
    switchToHost();
}

bool Execution::block(Wait wait, unsigned resource, bool timed) {
    Thread& self = threads_[self_];
    self.wait = wait;
    self.resource = resource;
    self.timed = timed;
    self.woken = false;
    const bool shared = wait == Wait::event || wait == Wait::mutex;
    Footprint footprint;
    if (shared) footprint.resource = static_cast<std::uint8_t>(maxLocations + resource);
    if (wait == Wait::futex) footprint.resource = timed ? static_cast<std::uint8_t>(resource) : Footprint::nothing;
    step(footprint);
    self.wait = Wait::none;
    if (wait == Wait::futex) return self.woken;
    return wait != Wait::event || resources_[resource].set;
}

void Execution::wakeFutexWaiters(unsigned location, unsigned limit) {
    for (unsigned woken = 0; woken < limit; ++woken) {
        std::array<std::uint8_t, maxThreads> waiters;
        unsigned count = 0;
        for (unsigned i = 0; i < threadCount_; ++i) {
            const Thread& thread = threads_[i];
            const bool waits = !thread.finished && thread.wait == Wait::futex && thread.resource == location;
            if (waits && !thread.woken) waiters[count++] = static_cast<std::uint8_t>(i);
        }
        if (count == 0) return;
        threads_[waiters[choices_.pick(count)]].woken = true;
    }
}

void Execution::yield() {
    threads_[self_].yielded = true;
    step({});
}

}  // namespace weft::model
