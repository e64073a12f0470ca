// ListenerDelivery: calls the listeners of futures, with a bounded stack however many futures complete each other.
#pragma once

#include <weft/scheduler/detail/completion.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::detail {

using FutureListener = UniqueFunction<void()>;
using FutureListeners = ListenerList<FutureListener>;

// Calls each once, the oldest first. Nothing may suspend in a listener; an exception from one is logged. Inside eight
// nested calls on one thread the listeners are kept, and the outermost call delivers them before it returns, in the
// order of these calls; without memory for that they are called at once. Any thread.
void callListeners(FutureListeners& listeners) noexcept;

}  // namespace weft::detail
