#include <weft/framework/run_until_signal.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "signal_thread.hpp"

namespace weft {

namespace {

void onSignal(int signal) noexcept;

// One of the signals, and its former action.
struct HeldSignal {
    int number;
    const char* name;
    bool onlyDefault = false;  // an action that the program has chosen stays, as an OnSignal does for all of them
    bool held = false;
    struct sigaction former = {};

    // A signal that is ignored stays ignored; a shell protects its background jobs that way.
    void take() noexcept {
        ::sigaction(number, nullptr, &former);
        held = onlyDefault ? former.sa_handler == SIG_DFL : former.sa_handler != SIG_IGN;
        held = held && !detail::SignalThread::handles(number);
        if (!held) return;
        struct sigaction action = {};
        action.sa_handler = &onSignal;
        action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
        ::sigaction(number, &action, nullptr);
    }
    // Unless another handler has been installed since.
    void giveBack() noexcept {
        if (!std::exchange(held, false)) return;
        struct sigaction now = {};
        ::sigaction(number, nullptr, &now);
        if (now.sa_handler == &onSignal) restore();
    }
    void restore() const noexcept { ::sigaction(number, &former, nullptr); }
};

// The signals that ShutdownSignals holds. One per process, like the handler.
struct Installation {
    std::mutex lock;  // guards the members below
    unsigned users = 0;
    bool installed = false;
    HeldSignal signals[3] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP", true}};

    HeldSignal& of(int signal) noexcept { return signals[signal == SIGINT ? 0 : signal == SIGTERM ? 1 : 2]; }
};
Installation installation;

// Read by the handler. Written before the handler is installed, and never closed, because a late handler may still
// write. relaxed: the installation of the handler, and the lock of `installation`, order the only store before the
// loads.
std::atomic<int> eventFd{-1};
std::atomic<int> lastSignal{0};
// When signals have their former effect again, in nanoseconds of the monotonic clock; 0 before a wait has ended.
// relaxed: orders nothing, and a handler that reads an old value only writes an event that no wait needs.
std::atomic<std::int64_t> givenBackAt{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler uses them");

// In the handler, too.
std::int64_t monotonicNow() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A wait that has ended leaves the handler in place, because many senders repeat a signal at once: `timeout` and
// `tini -g` signal the process and then its group. Later signals have their former effect when the handler returns.
void onSignal(int signal) noexcept {
    const int error = errno;
    const std::int64_t until = givenBackAt.load(std::memory_order_relaxed);
    if (until == 0) {
        lastSignal.store(signal, std::memory_order_relaxed);  // the write below publishes it
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(eventFd.load(std::memory_order_relaxed), &one, sizeof one);
    } else if (monotonicNow() >= until) {
        installation.of(signal).restore();
        ::raise(signal);
    }
    errno = error;
}

// Signals for earlier objects must not end a wait of this one.
void forgetEarlierSignals(int fd) noexcept {
    std::uint64_t count = 0;
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the descriptor does not block
    [[maybe_unused]] const auto taken = ::read(fd, &count, sizeof count);
}

void install() {
    if (eventFd.load(std::memory_order_relaxed) < 0) {
        const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) throw SystemError(fromErrno(errno), "eventfd for SIGINT and SIGTERM");
        eventFd.store(fd, std::memory_order_relaxed);
    }
    forgetEarlierSignals(eventFd.load(std::memory_order_relaxed));
    givenBackAt.store(0, std::memory_order_relaxed);
    for (HeldSignal& signal : installation.signals) signal.take();
    installation.installed = true;
}

void uninstall() noexcept {
    if (!std::exchange(installation.installed, false)) return;
    for (HeldSignal& signal : installation.signals) signal.giveBack();
}

// A parent may have left them blocked, but this thread must receive them.
void unblock() noexcept {
    sigset_t all;
    sigemptyset(&all);
    for (const HeldSignal& signal : installation.signals) sigaddset(&all, signal.number);
    ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
}

// Waits in poll(), not in read(): the thread sanitizer runs a handler during poll(), but after read().
void awaitEvent() noexcept {
    pollfd event{eventFd.load(std::memory_order_relaxed), POLLIN, 0};
    std::uint64_t count = 0;
    while (::read(event.fd, &count, sizeof count) < 0) ::poll(&event, 1, -1);
}

}  // namespace

ShutdownSignals::ShutdownSignals() {
    bool noSignalHeld = false;
    {
        std::lock_guard held(installation.lock);
        if (givenBackAt.load(std::memory_order_relaxed) != 0) uninstall();  // a wait has ended: this begins another
        if (!installation.installed) {
            install();
            noSignalHeld = !installation.of(SIGINT).held && !installation.of(SIGTERM).held;
        }
        ++installation.users;
    }
    if (!noSignalHeld) return;
    log(LogLevel::warning,
        "SIGINT and SIGTERM were ignored when this process started and stay ignored: no signal will shut it down "
        "gracefully");
}

ShutdownSignals::~ShutdownSignals() {
    std::lock_guard held(installation.lock);
    if (--installation.users == 0) uninstall();
}

int ShutdownSignals::wait() {
    if (Carrier::current() != nullptr) throw BlockingOperationException("ShutdownSignals::wait");
    unblock();
    awaitEvent();
    givenBackAt.store(monotonicNow() + std::chrono::nanoseconds(repeatTime).count(), std::memory_order_relaxed);
    return lastSignal.load(std::memory_order_relaxed);
}

int runUntilSignal(EventLoopGroup& group, Duration drainTime, Duration shutdownTime) {
    ShutdownSignals signals;  // until the end: a repeated signal must not cut the drain
    log(LogLevel::info, std::string(installation.of(signals.wait()).name) + ": draining");
    group.drain(drainTime);
    if (group.shutdown(shutdownTime)) return 0;
    log(LogLevel::error, "the process ends with status 1: the handlers, tasks and fibers listed above have not ended");
    std::_Exit(runFailed);
}

}  // namespace weft
