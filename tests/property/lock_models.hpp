// The models of sync::Mutex with a sync::Condition, of what hands out permits (sync::Semaphore, sync::RwLock,
// sync::FairMutex), of sync::Notify, sync::Barrier, sync::WaitGroup and sync::OnceCell.
#pragma once

#include <map>
#include <vector>

#include "property/model.hpp"

namespace weft::property {

// Waits that end for another reason than what they wait for, although that was there: allowed only while another caller
// is about to take it. So a later call must have taken it.
class Debt {
  public:
    bool owe() noexcept { return owed_ = true; }
    void pay() noexcept { owed_ = false; }
    bool paid() const noexcept { return !owed_; }

  private:
    bool owed_ = false;
};

// A mutex that any caller gets if it is free, and the queue of a condition.
class MonitorModel final : public ModelBase<MonitorModel> {
  public:
    bool apply(Phase phase, const Call& call, int id) override {
        switch (call.verb) {
            case Verb::lock: return call.gaveUp() ? locked_ || debt_.owe() : take();
            case Verb::tryLock: return call.outcome == Outcome::done ? take() : locked_;
            case Verb::unlock: return free();
            case Verb::notifyOne: return notify(1), true;
            case Verb::notifyAll: return notify(-1), true;
            case Verb::wait: return wait(phase, call, id);
            default: return false;
        }
    }
    bool mayEnd(const Call& call, int id) const override { return waiters_.mayEnd(call, id); }
    std::vector<long> state() const override {
        std::vector<long> all{locked_, debt_.paid()};
        waiters_.addTo(all);
        return all;
    }
    bool isSettled() const override { return debt_.paid(); }

  private:
    bool take() {
        if (locked_) return false;
        debt_.pay();
        return locked_ = true;
    }
    bool free() {
        if (!locked_) return false;
        locked_ = false;
        return true;
    }
    void notify(long most) {
        for (; most != 0 && !waiters_.empty(); --most) waiters_.grantFirst();
    }
    bool wait(Phase phase, const Call& call, int id) {
        if (phase == Phase::relock) return take();
        if (phase == Phase::end) return call.gaveUp() ? waiters_.withdraw(id) : waiters_.take(call, id);
        waiters_.append(id);
        return free();
    }

    bool locked_ = false;
    Debt debt_;
    Waiters waiters_;
};

// Permits, first in, first out.
class PermitsModel final : public ModelBase<PermitsModel> {
  public:
    explicit PermitsModel(long permits) noexcept : free_(permits) {}

    bool apply(Phase phase, const Call& call, int id) override {
        switch (call.verb) {
            case Verb::acquire: return acquire(phase, call, id);
            case Verb::tryAcquire: return tryAcquire(call);
            case Verb::release: free_ += call.argument; return serve();
            case Verb::forget: return forget(call);
            case Verb::close: return close(call);
            case Verb::count: return call.value == free_ && waiters_.empty();
            default: return false;
        }
    }
    bool mayEnd(const Call& call, int id) const override { return waiters_.mayEnd(call, id); }
    std::vector<long> state() const override {
        std::vector<long> all{free_, closed_};
        waiters_.addTo(all);
        return all;
    }

  private:
    static constexpr long granted = 0, refused = nothing;

    bool available(long count) const { return !closed_ && waiters_.empty() && free_ >= count; }
    bool acquire(Phase phase, const Call& call, int id) {
        if (phase == Phase::begin) return begin(call.argument, id);
        if (phase == Phase::giveUp) return waiters_.giveUp(id);
        return end(call, id);
    }
    bool begin(long count, int id) {
        if (closed_) {
            waiters_.grant(id, refused);
        } else {
            waiters_.append(id, count);
            serve();
        }
        return true;
    }
    bool end(const Call& call, int id) {
        if (call.gaveUp()) {
            static_cast<void>(waiters_.withdraw(id));  // a release or close() may have removed it
            return serve();
        }
        return waiters_.take(call, id);
    }
    bool tryAcquire(const Call& call) {
        if (call.outcome == Outcome::refused) return !available(call.argument);
        if (!available(call.argument)) return false;
        free_ -= call.argument;
        return true;
    }
    bool serve() {
        while (!waiters_.empty() && waiters_.first().wants <= free_) {
            const long wanted = waiters_.first().wants;
            if (waiters_.grantFirst(granted)) free_ -= wanted;
        }
        return true;
    }
    bool forget(const Call& call) {
        if (call.value != std::min(call.argument, free_)) return false;
        free_ -= call.value;
        return true;
    }
    bool close(const Call& call) {
        if (call.value != !closed_) return false;
        closed_ = true;
        waiters_.grantAll(refused);
        return true;
    }

    long free_;
    bool closed_ = false;
    Waiters waiters_;
};

class NotifyModel final : public ModelBase<NotifyModel> {
  public:
    bool apply(Phase phase, const Call& call, int id) override {
        switch (call.verb) {
            case Verb::wait: return wait(phase, call, id);
            case Verb::tryWait: return call.outcome == Outcome::done ? consume() : !stored_;
            case Verb::find: return !stored_;
            case Verb::notifyOne: return notifyOne();
            case Verb::notifyAll: return notifyAll();
            default: return false;
        }
    }
    bool mayEnd(const Call& call, int id) const override { return waiters_.mayEnd(call, id); }
    std::vector<long> state() const override {
        std::vector<long> all{stored_};
        for (const auto& [id, stale] : tickets_) all.insert(all.end(), {id, stale});
        waiters_.addTo(all);
        return all;
    }

  private:
    bool consume() {
        const bool was = stored_;
        stored_ = false;
        return was;
    }
    bool wait(Phase phase, const Call& call, int id) {
        if (phase == Phase::ticket) return tickets_.emplace(id, false).second;
        return phase == Phase::begin ? begin(id) : end(call, id);
    }
    bool begin(int id) {
        const bool stale = tickets_.at(id);
        tickets_.erase(id);
        if (consume() || stale) {
            waiters_.grant(id);
        } else {
            waiters_.append(id);
        }
        return true;
    }
    bool end(const Call& call, int id) { return call.gaveUp() ? waiters_.withdraw(id) : waiters_.take(call, id); }
    bool notifyAll() {
        waiters_.grantAll();
        for (auto& [id, stale] : tickets_) stale = true;
        return true;
    }
    bool notifyOne() {
        if (waiters_.empty()) return stored_ = true;
        waiters_.grantFirst();
        return true;
    }

    bool stored_ = false;
    std::map<int, bool> tickets_;  // of waits that have not begun: whether notifyAll() came after
    Waiters waiters_;
};

class BarrierModel final : public ModelBase<BarrierModel> {
  public:
    explicit BarrierModel(long parties) noexcept : parties_(parties) {}

    bool apply(Phase phase, const Call& call, int id) override {
        if (call.verb == Verb::count) return waiting_ == 0;
        if (phase == Phase::begin) return arrive(id);
        if (!call.gaveUp()) return waiters_.take(call, id);
        --waiting_;
        return waiters_.withdraw(id);
    }
    bool mayEnd(const Call& call, int id) const override { return waiters_.mayEnd(call, id); }
    std::vector<long> state() const override {
        std::vector<long> all;
        waiters_.addTo(all);
        return all;
    }

  private:
    bool arrive(int id) {
        if (++waiting_ < parties_) {
            waiters_.append(id);
        } else {
            waiting_ = 0;
            waiters_.grantAll(false);
            waiters_.grant(id, true);
        }
        return true;
    }

    const long parties_;
    long waiting_ = 0;
    Waiters waiters_;
};

class WaitGroupModel final : public ModelBase<WaitGroupModel> {
  public:
    explicit WaitGroupModel(long count) noexcept : count_(count) {}

    bool apply(Phase phase, const Call& call, int id) override {
        switch (call.verb) {
            case Verb::wait: return phase == Phase::begin ? begin(id) : end(call, id);
            case Verb::finish:
                if (--count_ == 0) waiters_.grantAll();
                return count_ >= 0;
            case Verb::count: return call.value == count_ && waiters_.empty();
            default: return false;
        }
    }
    bool mayEnd(const Call& call, int id) const override { return waiters_.mayEnd(call, id); }
    std::vector<long> state() const override {
        std::vector<long> all{count_};
        waiters_.addTo(all);
        return all;
    }

  private:
    bool begin(int id) {
        waiters_.append(id);
        if (count_ == 0) waiters_.grantAll();
        return true;
    }
    bool end(const Call& call, int id) { return call.gaveUp() ? waiters_.withdraw(id) : waiters_.take(call, id); }

    long count_;
    Waiters waiters_;
};

class OnceModel final : public ModelBase<OnceModel> {
  public:
    bool apply(Phase phase, const Call& call, int) override {
        switch (call.verb) {
            case Verb::initialize: return phase == Phase::begin ? begin() : end(call);
            case Verb::obtain: return call.gaveUp() ? giveUp() : value_ == call.value;
            case Verb::emplace: return emplace(call);
            case Verb::read: return value_ == call.value;
            default: return false;
        }
    }
    std::vector<long> state() const override { return {busy_, value_, debt_.paid()}; }
    bool isSettled() const override { return !busy_ && debt_.paid(); }

  private:
    bool begin() {
        if (busy_ || value_ != nothing) return false;
        debt_.pay();
        return busy_ = true;
    }
    bool end(const Call& call) {
        if (call.outcome == Outcome::done) value_ = call.value;
        busy_ = false;
        return true;
    }
    bool emplace(const Call& call) {
        if (call.outcome == Outcome::refused) return busy_ || value_ != nothing;
        return begin() && end(call);
    }
    bool giveUp() { return busy_ || (value_ == nothing && debt_.owe()); }

    bool busy_ = false;
    long value_ = nothing;
    Debt debt_;
};

}  // namespace weft::property
