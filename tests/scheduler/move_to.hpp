// moveTo(): moves a fiber as a thief does, for tests of what fibers do away from their home. Needs scheduler/src.
#pragma once

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/suspension.hpp>

#include "fiber_access.hpp"

namespace weft::test {

// Redirects the wake of a task to a carrier other than its home.
struct Redirection final : TaskScheduler {
    explicit Redirection(Carrier& to) : carrier(to) {}
    void enqueue(Task& task) noexcept override {
        Carrier& target = carrier;  // a copy, because the task may destroy this object once it is enqueued
        target.enqueue(task);
    }
    Carrier& carrier;
};

// Makes the running fiber continue on another carrier; it passes through its own. The group must have work stealing:
// without it a fiber may commit its wait before its context is saved.
inline void moveTo(Carrier& target) {
    WEFT_ASSERT(target.group().options().workStealing, "moveTo() in a group without work stealing");
    Task& self = *FiberAccess::currentFiber(*Carrier::current());
    TaskScheduler* const home = self.home;
    Redirection redirection(target);
    self.home = &redirection;
    while (Carrier::current() != &target) {  // repeated if the wake comes before the fiber has left its stack
        Suspension wait("moveTo");
        target.spawnDetached([key = wait.key()] { key.wake(); });
        wait.park();
    }
    self.home = home;
}

}  // namespace weft::test
