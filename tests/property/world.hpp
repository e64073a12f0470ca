// World: what the actors of one run share: the objects, the clock, the order of events, and what has cancelled what.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/scheduler/cancel_token.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/join_handle.hpp>
#include <weft/scheduler/manual_clock.hpp>

#include "property/call.hpp"
#include "property/program.hpp"

namespace weft::property {

class Actor;
class Thing;

// When something was cancelled first: the stamp was taken before.
class Moment {
  public:
    void note(Stamp stamp) noexcept {
        Stamp unset = 0;
        at_.compare_exchange_strong(unset, stamp);
    }
    // None: it has not been cancelled.
    std::optional<Stamp> get() const noexcept {
        const Stamp at = at_.load();
        return at == 0 ? std::nullopt : std::optional(at);
    }

  private:
    std::atomic<Stamp> at_{0};
};

// What may end the waits of an actor: a scope of its own, or what the actor as a whole depends on.
struct Frame {
    const Frame* outer = nullptr;
    const Moment* cancelled = nullptr;
    Deadline deadline = never;
    bool shields = false;  // from all further out
};

class World {
  public:
    static constexpr Duration tick = std::chrono::microseconds(100);
    // The second is a child of the first; the third ends the threads.
    static constexpr std::size_t sources = 3;

    // `carriers`: 1 makes the run repeatable.
    World(const Program& program, unsigned carriers);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Returns once every actor has ended.
    void run();
    // Empty, or what the models cannot explain and what the actors found wrong.
    std::string faults();

    // For the actors.
    const Program& program() const noexcept { return program_; }
    bool exact() const noexcept { return group_.size() == 1 && program_.threads == 0; }
    Stamp stamp() noexcept { return stamps_.fetch_add(1) + 1; }
    Thing& thing(std::size_t index) { return *things_[index]; }
    long freshValue() noexcept { return values_.fetch_add(1) + 1; }
    Carrier& carrier(std::size_t number) { return group_.carrier(number % group_.size()); }
    Actor& makeActor(const Actor* parent, const Frame* outer, bool isThread);
    void fault(std::string text);

    void advance(unsigned ticks);
    void cancelSource(std::size_t source);
    void cancelFiber(std::size_t fiber);
    CancelToken token(std::size_t source) const { return sources_[source].token(); }
    const Moment& moment(std::size_t source) const noexcept { return cancelled_[source]; }
    // The stamp of the advance that made the deadline pass; none: it has not passed.
    std::optional<Stamp> whenPassed(Deadline deadline);

  private:
    void conduct();
    void startFibers();
    void cancelAll();
    void awaitAll();
    void pass(unsigned ticks);
    void runActor(std::size_t index);
    void finishThings();
    [[noreturn]] void reportHang();
    std::string explained(std::size_t object);

    const Program program_;
    ManualClock clock_;
    std::atomic<Stamp> stamps_{0};
    std::atomic<long> values_{0};
    std::atomic<std::size_t> live_;
    std::array<CancelSource, sources> sources_;
    std::array<Moment, sources> cancelled_;

    std::vector<Actor*> tops_;  // those of the program; the others are children
    std::mutex lock_;           // guards the next four
    std::deque<Actor> actors_;
    std::vector<std::pair<TimePoint, Stamp>> advances_;
    std::vector<std::string> faults_;
    std::vector<JoinHandle<void>> fibers_;

    std::vector<std::unique_ptr<Thing>> things_;
    CarrierGroup group_;
};

}  // namespace weft::property
