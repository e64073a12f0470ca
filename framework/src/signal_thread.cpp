#include "signal_thread.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

// What a signal has in this process.
struct SignalThread::Slot {
    struct EventFd {
        pid_t process;  // that has opened it; one that is forked shares it, and must not write to it
        int descriptor;
    };
    static_assert(std::atomic<EventFd>::is_always_lock_free, "a signal handler uses it");

    static Slot& of(int signal, const std::string& owner) {
        const bool isFixed = signal == SIGKILL || signal == SIGSTOP;
        if (signal <= 0 || signal >= NSIG || isFixed) refuse(signal, owner);
        return all[static_cast<std::size_t>(signal)];
    }
    [[noreturn]] static void refuse(int signal, const std::string& owner) {
        throw std::invalid_argument(owner + ": signal " + std::to_string(signal) +
                                    " cannot be handled; use SIGUSR1, for example");
    }
    bool take() noexcept {
        const pid_t self = ::getpid();
        pid_t before = taken.load(std::memory_order_relaxed);
        return before != self && taken.compare_exchange_strong(before, self, std::memory_order_acquire,  // [G1]
                                                               std::memory_order_relaxed);
    }
    void giveBack() noexcept {
        taken.store(0, std::memory_order_release);  // [G1]
    }
    void openEventFd(const std::string& owner) {
        const pid_t self = ::getpid();
        const EventFd before = eventFd.load(std::memory_order_relaxed);
        if (before.process == self) return forget(before.descriptor);
        const int fd = ::eventfd(0, EFD_CLOEXEC);
        if (fd < 0) throw SystemError(fromErrno(errno), "the eventfd of " + owner);
        eventFd.store({self, fd}, std::memory_order_relaxed);
        if (before.process != 0) ::close(before.descriptor);  // inherited
    }
    void notify() const noexcept {
        const EventFd now = eventFd.load(std::memory_order_relaxed);
        const std::uint64_t one = 1;
        if (now.process != ::getpid()) return;
        [[maybe_unused]] const auto written = ::write(now.descriptor, &one, sizeof one);
    }
    // False: the program has closed the descriptor.
    bool await() const noexcept {
        const int descriptor = eventFd.load(std::memory_order_relaxed).descriptor;
        std::uint64_t count = 0;
        while (::read(descriptor, &count, sizeof count) < 0) {
            if (errno != EINTR) return false;
        }
        return true;
    }
    // Signals of an earlier object.
    static void forget(int descriptor) noexcept {
        pollfd event{descriptor, POLLIN, 0};
        std::uint64_t count = 0;
        if (::poll(&event, 1, 0) != 1) return;
        [[maybe_unused]] const auto taken = ::read(descriptor, &count, sizeof count);
    }

    static std::array<Slot, NSIG> all;

    std::atomic<pid_t> taken{0};  // the process in which an object exists; 0: none
    // Read by the handler. Made once in a process and never closed there, because a late handler may still write.
    // relaxed: the start of the thread orders the process's only store before its load; a handler uses nothing else.
    std::atomic<EventFd> eventFd{EventFd{0, -1}};
};
std::array<SignalThread::Slot, NSIG> SignalThread::Slot::all;

SignalThread::SignalThread(int signal, const std::string& owner, UniqueFunction<void()> act)
    : signal_(signal), act_(std::move(act)), slot_(Slot::of(signal, owner)), process_(::getpid()) {
    if (!slot_.take())
        throw std::logic_error(owner + ": signal " + std::to_string(signal) +
                               " has an object that handles it; destroy that first, or use another signal");
    try {
        slot_.openEventFd(owner);
        handleSignal(owner);
        startThread(owner);
    } catch (...) {
        slot_.giveBack();
        throw;
    }
}

SignalThread::~SignalThread() {
    restoreHandler();
    ends_.store(true, std::memory_order_relaxed);
    slot_.notify();
    thread_.join();
    slot_.giveBack();
}

bool SignalThread::forked() const noexcept {
    return process_ != ::getpid();
}

bool SignalThread::handles(int signal) noexcept {
    struct sigaction now = {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == &SignalThread::onSignal;
}

void SignalThread::onSignal(int signal) noexcept {
    const int error = errno;
    Slot::all[static_cast<std::size_t>(signal)].notify();
    errno = error;
}

void SignalThread::handleSignal(const std::string& owner) {
    struct sigaction action = {};
    action.sa_handler = &SignalThread::onSignal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
    if (::sigaction(signal_, &action, &former_) < 0) Slot::refuse(signal_, owner);
}

void SignalThread::restoreHandler() const noexcept {
    if (handles(signal_)) ::sigaction(signal_, &former_, nullptr);
}

void SignalThread::startThread(const std::string& owner) {
    try {
        const SignalsBlocked blocked;  // the thread handles no signals of the program
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
        restoreHandler();
        throw SystemError(fromErrno(error.code().value()), "starting the thread of " + owner);
    }
}

void SignalThread::run() noexcept {
    ::pthread_setname_np(::pthread_self(), "weft-on-signal");
    while (slot_.await() && !ends_.load(std::memory_order_relaxed)) act_();
}

}  // namespace weft::detail
