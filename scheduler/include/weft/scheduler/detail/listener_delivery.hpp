// FutureListeners, and the calls of them, which bound the stack depth when listeners complete other futures.
#pragma once

#include <weft/scheduler/detail/completion.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::detail {

using FutureListener = UniqueFunction<void()>;
using FutureListeners = ListenerList<FutureListener>;

// Calls and destroys each listener, the oldest first. Nothing may suspend in a listener; an exception of a listener is
// logged. If eight calls of this function are nested on the thread already, it queues the listeners, and the outermost
// call delivers them, in the order of these calls, before it returns. Without memory for that it calls them at once.
// Any thread.
void callListeners(FutureListeners& listeners) noexcept;

}  // namespace weft::detail
