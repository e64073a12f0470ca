// SignalsBlocked: blocks signals while the library starts a thread of its own.
#pragma once

#include <initializer_list>

#include <pthread.h>
#include <signal.h>

namespace weft::detail {

// While an object is alive, threads that this thread creates inherit a mask that blocks the signals of the process.
// Signal handlers then run on the program's own threads, not on a fiber's small stack, and no system call of a carrier
// is interrupted. Not blocked: the signals that a thread raises itself, and SIGPROF, which profilers need.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept {
        sigset_t blocked;
        sigfillset(&blocked);
        for (const int open : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
            sigdelset(&blocked, open);
        }
        ::pthread_sigmask(SIG_SETMASK, &blocked, &former_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t former_;
};

}  // namespace weft::detail
