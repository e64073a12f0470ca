// NativeSync: what the primitives of weft::sync are made of in a program. The model explorer replaces it. The two
// throwing forms of a call, in terms of the one with an error code.
#pragma once

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/spin_lock.hpp>
#include <weft/scheduler/detail/striped_lock.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::detail {

// Between the wake and its return, a primitive uses nothing of the home carrier; so a fiber with Stealable::any may
// resume anywhere.
class SyncWait : public Suspension {
  public:
    explicit SyncWait(const char* call) : Suspension(call, Resumes::anywhere) {}
};

struct NativeSync : NativeAtomics {
    using Wait = SyncWait;
    using Until = Deadline;
    using QueueLock = StripedLock;
    using ShortLock = SpinLock;
    using Pause = Backoff;
};

inline void throwOnError(const ErrorCode& error, const char* call) {
    if (error) [[unlikely]]
        throw SystemError(error, call);
}
// True without an error, false for timedOut(); throws SystemError for any other.
inline bool falseOnTimeout(const ErrorCode& error, const char* call) {
    if (!error) [[likely]]
        return true;
    if (error != timedOut()) throw SystemError(error, call);
    return false;
}

}  // namespace weft::detail
