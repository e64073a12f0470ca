// WaitScopes: the scopes of a fiber or thread that may end its waits: DeadlineScopes and CancelScopes. docs/adr/0029.
#pragma once

#include <weft/scheduler/deadline.hpp>

namespace weft {

struct Task;

namespace detail {

struct CancelFrame;
template <class P>
class BasicInterruptMask;
struct NativeAtomics;

// Only the fiber or thread itself uses it. A child of a TaskScope begins with those in which its scope was constructed.
struct WaitScopes {
    Deadline deadline = never;         // the earliest deadline of all its scopes
    CancelFrame* innermost = nullptr;  // of the CancelScopes, or the one in which its TaskScope was constructed
};

// The running fiber, or the calling thread.
struct CurrentTask {
    Task& task;
    const BasicInterruptMask<NativeAtomics>& interrupts;
    WaitScopes& scopes;
};
// Outside any fiber on a carrier, where nothing may wait: that carrier's thread. Never inlined. Any thread.
CurrentTask currentTask() noexcept;

}  // namespace detail
}  // namespace weft
