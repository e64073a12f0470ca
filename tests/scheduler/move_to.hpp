// moveTo(): what a thief will do to a fiber, for tests of what fibers do away from their home. Needs scheduler/src.
#pragma once

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/suspension.hpp>

#include "fiber_access.hpp"

namespace weft::test {

// Sends the wake of a task to another carrier than its home.
struct Redirection final : TaskScheduler {
    explicit Redirection(Carrier& to) : carrier(to) {}
    void enqueue(Task& task) noexcept override {
        Carrier& target = carrier;  // once it is enqueued, the task may end this object
        target.enqueue(task);
    }
    Carrier& carrier;
};

// Lets the running fiber go on on another carrier, by way of its own.
inline void moveTo(Carrier& target) {
    Task& self = *FiberAccess::currentFiber(*Carrier::current());
    TaskScheduler* const home = self.home;
    Redirection redirection(target);
    self.home = &redirection;
    while (Carrier::current() != &target) {  // again when the wake comes before the fiber is off its stack
        Suspension wait("moveTo");
        target.spawnDetached([key = wait.key()] { key.wake(); });
        wait.park();
    }
    self.home = home;
}

}  // namespace weft::test
