#include "fork_mark.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/log.hpp>

#include "current_carrier.hpp"
#include "fiber_access.hpp"

#include <pthread.h>

namespace weft::detail {

namespace {

std::atomic<std::uint32_t> generation{0};

// The forking thread is the child's only thread. If it was a carrier, it stops being one: the carrier's poller and
// fibers belong to the parent, which shares their descriptors, so none of them may run here.
void inChild() noexcept {
    generation.fetch_add(1, std::memory_order_relaxed);  // no other thread exists
    Carrier* carrier = currentCarrier();
    if (carrier == nullptr) return;
    if (Fiber* fiber = FiberAccess::currentFiber(*carrier))
        fiber->running.store(nullptr, std::memory_order_relaxed);  // see FiberAccess::leave()
    setCurrentHome(nullptr);
    setCurrentCarrier(nullptr);
}

}  // namespace

std::uint32_t forkGeneration() noexcept {
    return generation.load(std::memory_order_relaxed);  // changes only while a process has one thread
}

std::uint32_t watchForks() {
    static const int refused = ::pthread_atfork(nullptr, nullptr, &inChild);
    if (refused != 0) throw SystemError(fromErrno(refused), "pthread_atfork");
    return forkGeneration();
}

SystemError forkedError(const std::string& call) {
    return SystemError(fromErrno(ENOTSUP),
                       call + ": this process was forked from the one that has the carrier, and fork() "
                              "copies no threads; start Weft after fork()");
}

void endOfForkedFiber() noexcept {
    log(LogLevel::error, "a fiber has ended in a forked process, which has no carrier to continue on: end such "
                         "a process with exec(), exit() or _exit()");
    std::abort();
}

void endOfForkedFunction() noexcept {
    log(LogLevel::error, "a function of a BlockingPool has ended in a forked process, in which nothing waits for it: "
                         "end such a process with exec(), exit() or _exit()");
    std::abort();
}

}  // namespace weft::detail
