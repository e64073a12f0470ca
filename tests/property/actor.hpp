// Actor: a fiber or a thread of a program, which runs operations and records its calls.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>

#include "property/call.hpp"
#include "property/thing.hpp"
#include "property/world.hpp"

namespace weft::property {

struct Family;

// What a child throws.
struct ChildFailure {
    int actor;
};

class Actor {
  public:
    // `parent`: null, or the actor whose scope it is a child of.
    Actor(World& world, int id, const Actor* parent, const Frame* outer, bool isThread);

    void run(const std::vector<Operation>& operations);
    // Gives back all that it holds.
    void leave();

    // For the things: one call, from begin() to one of the others.
    Call& begin(const Thing& thing, Verb verb, long argument = 0);
    // It may queue. Returns its deadline.
    Deadline queue(Call& call, const Operation& operation);
    void end(Call& call, Outcome outcome, long value = 0);
    // As the error says; `value` if there is none.
    void end(Call& call, const ErrorCode& error, Deadline own, long value = 0);
    // The error that `work` throws as SystemError, or none.
    static ErrorCode errorOf(const std::function<void()>& work);

    long& held(const Thing& thing) { return held_[static_cast<std::size_t>(thing.number())]; }
    std::unique_ptr<Local>& local(const Thing& thing) { return locals_[static_cast<std::size_t>(thing.number())]; }
    // Whether a wait for this mutex that nothing interrupts surely ends: the actor holds no other mutex, and there are
    // no fibers that would be cancelled only after the wait.
    bool mayInsistOn(const Thing& thing) const;
    // Yields, and may sleep: what a function does that initialises.
    void linger(const Operation& operation);

    World& world() noexcept { return world_; }
    int id() const noexcept { return id_; }
    const std::deque<Call>& calls() const noexcept { return calls_; }
    Moment& cancelled() noexcept { return cancelled_; }

  private:
    // In a scope.
    class Within;

    void runOne(const Operation& operation);
    void select(const Operation& operation);
    void endOthers(std::deque<Call*>& calls, std::size_t chosen, const Operation& operation, bool passed);
    void sleep(const Operation& operation);
    void runIn(Frame frame, const std::vector<Operation>& operations);
    void taskScope(const Operation& operation);
    void joinSet(const Operation& operation);
    int runChild(Family& family, Actor& child, const std::vector<Operation>& operations);
    void releaseMutexes();
    Deadline deadlineOf(const Operation& operation) const;
    // The least stamp at which a wait of this actor can have been ended; none: nothing ends its waits.
    std::optional<Stamp> interruption() const;
    std::optional<Stamp> passed(Deadline deadline) const;
    Stamp because(std::optional<Stamp> cause, const char* what);

    World& world_;
    const int id_;
    const bool isThread_;
    const bool mayInsist_;
    Moment cancelled_;
    Frame own_;
    const Frame* frames_ = &own_;
    int families_ = 0;  // scopes with children that are open
    std::deque<Call> calls_;
    std::vector<long> held_;
    std::vector<std::unique_ptr<Local>> locals_;
};

}  // namespace weft::property
