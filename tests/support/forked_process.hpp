// A forked process that runs a part of a test.
#pragma once

#include <csignal>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::test {

// Runs `body` in a process of its own, which ends without destructors, and returns its result; -1 if it was killed. The
// process does not outlive this one, even if it hangs.
template <class Body>
int resultOfFork(Body body) {
    const pid_t forked = ::fork();
    if (forked == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::_exit(body());
    }
    int status = 0;
    return ::waitpid(forked, &status, 0) == forked && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace weft::test
