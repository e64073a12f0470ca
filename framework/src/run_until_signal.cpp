#include <weft/framework/run_until_signal.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

namespace {

// The signals of this process that ShutdownSignals holds. One for the process, as the handler is.
struct Installation {
    std::mutex lock;  // guards users and former...
    unsigned users = 0;
    bool installed = false;
    struct sigaction formerInterrupt = {};
    struct sigaction formerTerminate = {};
};
Installation installation;

// Read by the handler: written before it is installed, never closed (a late handler may still write).
std::atomic<int> eventFd{-1};
std::atomic<int> lastSignal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler uses them");

void onSignal(int signal) noexcept {
    const int error = errno;
    lastSignal.store(signal, std::memory_order_relaxed);  // the write below publishes it
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(eventFd.load(std::memory_order_relaxed), &one, sizeof one);
    errno = error;
}

void install() {
    if (eventFd.load(std::memory_order_relaxed) < 0) {
        const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) throw SystemError(fromErrno(errno), "eventfd for SIGINT and SIGTERM");
        eventFd.store(fd, std::memory_order_relaxed);
    }
    struct sigaction action = {};
    action.sa_handler = &onSignal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
    ::sigaction(SIGINT, &action, &installation.formerInterrupt);
    ::sigaction(SIGTERM, &action, &installation.formerTerminate);
    installation.installed = true;
}

void uninstall() noexcept {
    if (!installation.installed) return;
    installation.installed = false;
    ::sigaction(SIGINT, &installation.formerInterrupt, nullptr);
    ::sigaction(SIGTERM, &installation.formerTerminate, nullptr);
}

// A parent may have left them blocked; this thread is here to take them.
void unblock() noexcept {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    ::pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
}

// In poll(), not in read(): the thread sanitizer runs a handler during the former, and after the latter.
void awaitEvent() noexcept {
    pollfd event{eventFd.load(std::memory_order_relaxed), POLLIN, 0};
    std::uint64_t count = 0;
    while (::read(event.fd, &count, sizeof count) < 0) ::poll(&event, 1, -1);
}

}  // namespace

ShutdownSignals::ShutdownSignals() {
    std::lock_guard held(installation.lock);
    if (!installation.installed) install();
    ++installation.users;
}

ShutdownSignals::~ShutdownSignals() {
    std::lock_guard held(installation.lock);
    if (--installation.users == 0) uninstall();
}

int ShutdownSignals::wait() {
    if (Carrier::current() != nullptr) throw BlockingOperationException("ShutdownSignals::wait");
    unblock();
    awaitEvent();
    std::lock_guard held(installation.lock);
    uninstall();
    return lastSignal.load(std::memory_order_relaxed);
}

int runUntilSignal(EventLoopGroup& group, Duration drainTime, Duration shutdownTime) {
    const int signal = ShutdownSignals().wait();
    log(LogLevel::info, std::string(signal == SIGINT ? "SIGINT" : "SIGTERM") + ": draining");
    group.drain(drainTime);
    if (group.shutdown(shutdownTime)) return 0;
    log(LogLevel::error, "the process ends with status 1: what is named above has not returned");
    std::_Exit(runFailed);
}

}  // namespace weft
