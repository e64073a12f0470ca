// entersLoop(): whether a call may use a channel of this loop at once, or must be posted.
#pragma once

#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft::detail {

// Keeps a fiber's operations in order: one that it posted as a guest elsewhere could be overtaken by the next one, made
// at home.
[[gnu::cold, gnu::noinline]] inline bool goesHomeTo(const EventLoop& loop) noexcept {
    return loop.carrier() != nullptr && comeHome(*loop.carrier());
}

// True on the loop. A fiber of the loop's carrier that runs as a guest elsewhere goes home first.
inline bool entersLoop(const EventLoop& loop) noexcept {
    return loop.inEventLoop() || goesHomeTo(loop);
}

}  // namespace weft::detail
