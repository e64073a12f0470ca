#include <weft/framework/run_until_signal.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

namespace {

void onSignal(int signal) noexcept;

// One of the two signals, and what it did before.
struct HeldSignal {
    int number;
    bool held = false;
    struct sigaction former = {};

    // A signal that is ignored stays ignored: a shell protects what it runs in the background like that.
    void take() noexcept {
        ::sigaction(number, nullptr, &former);
        held = former.sa_handler != SIG_IGN;
        if (!held) return;
        struct sigaction action = {};
        action.sa_handler = &onSignal;
        action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
        ::sigaction(number, &action, nullptr);
    }
    void giveBack() noexcept {
        if (std::exchange(held, false)) ::sigaction(number, &former, nullptr);
    }
};

// The signals of this process that ShutdownSignals holds. One for the process, as the handler is.
struct Installation {
    std::mutex lock;  // guards what follows
    unsigned users = 0;
    bool installed = false;
    HeldSignal interrupt{SIGINT};
    HeldSignal terminate{SIGTERM};

    bool holdsNone() const noexcept { return !interrupt.held && !terminate.held; }
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

// What came for objects that are gone must not end a wait of this one.
void forgetEarlierSignals(int fd) noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(fd, &count, sizeof count);
}

void install() {
    if (eventFd.load(std::memory_order_relaxed) < 0) {
        const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) throw SystemError(fromErrno(errno), "eventfd for SIGINT and SIGTERM");
        eventFd.store(fd, std::memory_order_relaxed);
    }
    forgetEarlierSignals(eventFd.load(std::memory_order_relaxed));
    installation.interrupt.take();
    installation.terminate.take();
    installation.installed = true;
}

void uninstall() noexcept {
    if (!std::exchange(installation.installed, false)) return;
    installation.interrupt.giveBack();
    installation.terminate.giveBack();
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
    bool deaf = false;
    {
        std::lock_guard held(installation.lock);
        if (!installation.installed) {
            install();
            deaf = installation.holdsNone();
        }
        ++installation.users;
    }
    if (!deaf) return;
    log(LogLevel::warning,
        "SIGINT and SIGTERM are ignored by the parent's choice and stay ignored: no signal will end this process in "
        "order");
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
