#include <weft/scheduler/detail/listener_delivery.hpp>

#include <new>
#include <utility>

#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "describe_error.hpp"

namespace weft::detail {

namespace {

// A delivery that the outermost one of its thread will make.
struct Postponed {
    FutureListeners listeners;
    Postponed* next = nullptr;
};

// The deliveries of this thread. No listener suspends, so a delivery ends on the thread and stack on which it began.
struct Delivery {
    unsigned depth = 0;
    Postponed* first = nullptr;
    Postponed* last = nullptr;
};

constexpr unsigned maxNestedDeliveries = 8;

[[gnu::noinline]] Delivery& deliveryHere() noexcept {
    static constinit thread_local Delivery delivery;
    asm volatile("" ::: "memory");
    return delivery;
}

void call(FutureListener& listener) noexcept {
    try {
        listener();
    } catch (...) {
        log(LogLevel::error, {"a future's listener threw: ", describe(std::current_exception())});
    }
}

void deliver(Delivery& here, FutureListeners& listeners) noexcept {
    ++here.depth;
    listeners.callAll(call);
    --here.depth;
}

// False: out of memory.
bool postpone(Delivery& here, FutureListeners& listeners) noexcept {
    auto* postponed = new (std::nothrow) Postponed;
    if (postponed == nullptr) return false;
    postponed->listeners.takeFrom(listeners);
    (here.last != nullptr ? here.last->next : here.first) = postponed;
    here.last = postponed;
    return true;
}

void deliverPostponed(Delivery& here) noexcept {
    while (Postponed* postponed = here.first) {
        here.first = postponed->next;
        if (here.first == nullptr) here.last = nullptr;
        deliver(here, postponed->listeners);
        delete postponed;
    }
}

}  // namespace

void callListeners(FutureListeners& listeners) noexcept {
    if (listeners.empty()) return;
    Delivery& here = deliveryHere();
    if (here.depth >= maxNestedDeliveries && postpone(here, listeners)) return;
    const NonSuspendingScope scope;
    deliver(here, listeners);
    if (here.depth == 0) deliverPostponed(here);
}

}  // namespace weft::detail
