#include "property/actor.hpp"

#include <utility>

#include <weft/scheduler/cancel_scope.hpp>
#include <weft/scheduler/cancellation_shield.hpp>
#include <weft/scheduler/deadline_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft::property {

Actor::Actor(World& world, int id, const Actor* parent, const Frame* outer, bool isThread)
    : world_(world),
      id_(id),
      isThread_(isThread),
      mayInsist_(parent == nullptr || (parent->mayInsist_ && parent->families_ == 0)),
      own_{.outer = outer, .cancelled = &cancelled_},
      held_(world.program().objects.size()),
      locals_(world.program().objects.size()) {}

void Actor::run(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) runOne(operation);
}

void Actor::runOne(const Operation& operation) {
    switch (operation.act) {
        case Act::use: return world_.thing(static_cast<std::size_t>(operation.object)).use(*this, operation);
        case Act::select: return select(operation);
        case Act::yield: return thisFiber::yield();
        case Act::sleep: return sleep(operation);
        case Act::advance: return world_.advance(operation.ticks);
        case Act::cancelSource: return world_.cancelSource(operation.choice % 2);
        case Act::cancelFiber: return world_.cancelFiber(operation.choice);
        case Act::cancelScope: {
            const CancelScope scope(world_.token(operation.choice % 2));
            return runIn({.cancelled = &world_.moment(operation.choice % 2)}, operation.body);
        }
        case Act::deadlineScope: {
            const DeadlineScope scope(operation.ticks * World::tick);
            return runIn({.deadline = scope.deadline()}, operation.body);
        }
        case Act::shield: {
            const CancellationShield shield;
            return runIn({.shields = true}, operation.body);
        }
        case Act::taskScope: return taskScope(operation);
        case Act::joinSet: return joinSet(operation);
    }
}

void Actor::runIn(Frame frame, const std::vector<Operation>& operations) {
    frame.outer = std::exchange(frames_, &frame);
    run(operations);
    frames_ = frame.outer;
}

void Actor::leave() {
    for (std::size_t i = 0; i < locals_.size(); ++i) world_.thing(i).leave(*this);
}

void Actor::releaseMutexes() {
    for (std::size_t i = 0; i < locals_.size(); ++i) {
        if (world_.thing(i).isMutex()) world_.thing(i).leave(*this);
    }
}

bool Actor::mayInsistOn(const Thing& thing) const {
    if (!mayInsist_ || families_ > 0) return false;
    for (std::size_t i = 0; i < held_.size(); ++i) {
        if (held_[i] != 0 && i != static_cast<std::size_t>(thing.number()) && world_.thing(i).isMutex()) return false;
    }
    return true;
}

void Actor::sleep(const Operation& operation) {
    const Deadline until = deadlineAfter(operation.ticks * World::tick);
    ErrorCode error;
    thisFiber::sleepUntil(until, error);
    if (error) {
        because(error == operationAborted() ? interruption() : std::nullopt, "a sleep ended early");
    } else {
        because(passed(until), "a sleep was too short");
    }
}

void Actor::linger(const Operation& operation) {
    thisFiber::yield();
    if (operation.timed && !isThread_) sleep(operation);
}

Call& Actor::begin(const Thing& thing, Verb verb, long argument) {
    Call& call = calls_.emplace_back();
    call.object = thing.number();
    call.actor = id_;
    call.verb = verb;
    call.argument = argument;
    call.begun = world_.stamp();
    return call;
}

Deadline Actor::deadlineOf(const Operation& operation) const {
    return operation.timed ? deadlineAfter(operation.ticks * World::tick) : never;
}

Deadline Actor::queue(Call& call, const Operation& operation) {
    call.queues = true;
    return deadlineOf(operation);
}

void Actor::end(Call& call, Outcome outcome, long value) {
    call.value = value;
    call.outcome = outcome;
    call.ended = world_.stamp();
}

void Actor::end(Call& call, const ErrorCode& error, Deadline own, long value) {
    if (!error) return end(call, Outcome::done, value);
    if (error == fromErrno(EPIPE)) return end(call, Outcome::closed);
    if (error == timedOut()) {
        call.interrupted = because(passed(own), "a call timed out early");
        return end(call, Outcome::timedOut);
    }
    if (error != operationAborted()) world_.fault("an unknown error: " + error.message());
    call.interrupted = because(interruption(), "a call was aborted without a cause");
    end(call, Outcome::aborted);
}

ErrorCode Actor::errorOf(const std::function<void()>& work) {
    try {
        work();
    } catch (const SystemError& error) {
        return error.code();
    }
    return {};
}

std::optional<Stamp> Actor::passed(Deadline deadline) const {
    if (deadline == never) return std::nullopt;
    if (!isThread_) return world_.whenPassed(deadline);
    return Clock::steady().now() >= deadline ? std::optional<Stamp>(0) : std::nullopt;
}

std::optional<Stamp> Actor::interruption() const {
    std::optional<Stamp> least;
    const auto consider = [&](std::optional<Stamp> at) {
        if (at && (!least || *at < *least)) least = at;
    };
    for (const Frame* frame = frames_; frame != nullptr && !frame->shields; frame = frame->outer) {
        if (frame->cancelled != nullptr) consider(frame->cancelled->get());
        consider(passed(frame->deadline));
    }
    if (isThread_) consider(world_.moment(World::sources - 1).get());
    return least;
}

Stamp Actor::because(std::optional<Stamp> cause, const char* what) {
    if (!cause) world_.fault("actor " + std::to_string(id_) + ": " + what);
    return cause.value_or(0);
}

}  // namespace weft::property
