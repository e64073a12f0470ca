// SIGTERM and SIGINT as a descriptor that becomes readable, for programs with an epoll loop of their own.
#pragma once

#include <sys/signalfd.h>

#include <csignal>

namespace weft::perf {

// Blocks both signals in the calling thread, which has to be the first. Owned by the caller; -1 and errno on failure.
inline int quitSignals() {
    sigset_t quit;
    sigemptyset(&quit);
    sigaddset(&quit, SIGTERM);
    sigaddset(&quit, SIGINT);
    sigprocmask(SIG_BLOCK, &quit, nullptr);
    return signalfd(-1, &quit, SFD_CLOEXEC);
}

}  // namespace weft::perf
