// blocking: runs a function that blocks its thread, while only the calling fiber waits.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/carrier_group.hpp>

namespace weft {

// Calls `fn()` on a thread of the blocking pool of the calling fiber's group, and returns its result or rethrows its
// exception; the other fibers of the carrier run meanwhile. For files, database drivers, name lookups and long
// computations:
//     const std::string text = weft::blocking([&] { return readFile(path); });
// `fn` may use the caller's variables, but no call of it may park a fiber: it runs on a plain thread, with that
// thread's thread_local variables and errno. Cancellation, errors and context: as BlockingPool::run(). On a plain
// thread it calls `fn` directly. `fn` may call exit() as a fiber may: see ~CarrierGroup() and CarrierGroup::instance().
// After fork() in `fn`, the child must end by exec(), exit() or _exit(); if `fn` returns there, the child aborts.
template <class F>
std::invoke_result_t<F&> blocking(F&& fn) {
    Carrier* const here = Carrier::current();
    if (here == nullptr) return std::invoke(fn);
    return here->group().blockingPool().run(fn);
}

}  // namespace weft
