// SignalsBlocked: for those who start threads that are not the program's own.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace weft::detail {

// While one lives, threads that this one makes take no signal of the process: handlers run on the program's own
// threads, not on a fiber's small stack, and no system call of a carrier is interrupted. Left open: what a thread does
// to itself, and SIGPROF, which profilers live on.
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
