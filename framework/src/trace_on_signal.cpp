#include <weft/framework/trace_on_signal.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/flight_recorder.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

namespace {

std::atomic<bool> traceSignalTaken{false};    // true while a TraceOnSignal exists
std::atomic<bool> traceThreadMustEnd{false};  // written by that object, read by its thread
// Read by the handler. Made once and never closed, because a late handler may still write. relaxed: the installation of
// the handler and the start of the thread order the only store before their loads.
std::atomic<int> traceEventFd{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler uses it");

void requestTrace() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(traceEventFd.load(std::memory_order_relaxed), &one, sizeof one);
}

void onTraceSignal(int) noexcept {
    const int error = errno;
    requestTrace();
    errno = error;
}

void awaitTraceRequest() noexcept {
    std::uint64_t count = 0;
    while (::read(traceEventFd.load(std::memory_order_relaxed), &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void openTraceEventFd() {
    if (traceEventFd.load(std::memory_order_relaxed) >= 0) return;
    const int fd = ::eventfd(0, EFD_CLOEXEC);
    if (fd < 0) throw SystemError(fromErrno(errno), "the eventfd of TraceOnSignal");
    traceEventFd.store(fd, std::memory_order_relaxed);
}

struct sigaction handleTraceSignal(int signal) {
    struct sigaction action = {}, former = {};
    action.sa_handler = &onTraceSignal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
    if (::sigaction(signal, &action, &former) < 0) {
        throw std::invalid_argument("TraceOnSignal: signal " + std::to_string(signal) +
                                    " cannot be handled; use SIGUSR1, for example");
    }
    return former;
}

}  // namespace

TraceOnSignal::TraceOnSignal(CarrierGroup& group, std::string path, int signal)
    : group_(group), path_(std::move(path)), signal_(signal) {
    if (traceSignalTaken.exchange(true, std::memory_order_acquire))  // [G1]
        throw std::logic_error("TraceOnSignal: the process already has one; destroy it first");
    try {
        openTraceEventFd();
        traceThreadMustEnd.store(false, std::memory_order_relaxed);  // the start of the thread publishes it
        former_ = handleTraceSignal(signal);
        const detail::SignalsBlocked blocked;  // the thread handles no signals of the program
        thread_ = std::thread([this] { writeAtEachSignal(); });
    } catch (const std::system_error& error) {
        ::sigaction(signal, &former_, nullptr);
        traceSignalTaken.store(false, std::memory_order_release);  // [G1]
        throw SystemError(fromErrno(error.code().value()), "starting the thread of TraceOnSignal");
    } catch (...) {
        traceSignalTaken.store(false, std::memory_order_release);  // [G1]
        throw;
    }
}

TraceOnSignal::~TraceOnSignal() {
    ::sigaction(signal_, &former_, nullptr);
    traceThreadMustEnd.store(true, std::memory_order_relaxed);  // the write to the eventfd publishes it
    requestTrace();
    thread_.join();
    traceSignalTaken.store(false, std::memory_order_release);  // [G1]
}

void TraceOnSignal::writeAtEachSignal() noexcept {
    for (;;) {
        awaitTraceRequest();
        if (traceThreadMustEnd.load(std::memory_order_relaxed)) return;  // the read of the eventfd orders it
        write();
    }
}

namespace {

// Returns the error message, or an empty text on success. Replaces a regular file; writes directly to a pipe or a
// device.
std::string writeTo(const std::string& path, CarrierGroup& group) {
    const bool replaces = !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
    const std::string target = replaces ? path + ".part" : path;
    errno = 0;
    std::ofstream file(target, std::ios::trunc);
    if (file) writeTrace(group, file);
    if (file) file.flush();
    if (!file) return errno != 0 ? fromErrno(errno).message() : "the stream failed";
    file.close();
    if (replaces && std::rename(target.c_str(), path.c_str()) != 0) return fromErrno(errno).message();
    return {};
}

}  // namespace

void TraceOnSignal::write() noexcept {
    try {
        const std::string failure = writeTo(path_, group_);
        if (!failure.empty()) return log(LogLevel::error, {"the trace cannot be written to ", path_, ": ", failure});
        log(LogLevel::info, {"trace written to ", path_});
    } catch (const std::exception& error) {
        log(LogLevel::error, {"the trace cannot be written to ", path_, ": ", error.what()});
    }
}

}  // namespace weft
