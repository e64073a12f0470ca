// FileOnSignal: writes a file at each signal, on a thread of its own. Private to the framework.
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <locale>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/detail/kept_in_fork.hpp>
#include <weft/scheduler/detail/signals_blocked.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "output_file.hpp"

namespace weft::detail {

struct FileOnSignalOptions {
    std::string owner;  // the class, for error messages
    std::string what;   // what it writes: "trace"
    std::string path;
    int signal;
    std::function<void(std::ostream&)> write;
};

// The process has at most one per Owner, which is a type. Errors, logging and files: see TraceOnSignal. In a forked
// process, which has neither the thread nor an eventfd of its own, the owner keeps the object.
template <class Owner>
class FileOnSignal : public KeptInFork {
  public:
    explicit FileOnSignal(FileOnSignalOptions options) : options_(std::move(options)) {
        if (!takeProcess()) throw std::logic_error(options_.owner + ": the process already has one; destroy it first");
        try {
            openEventFd();
            mustEnd_.store(false, std::memory_order_relaxed);  // the start of the thread publishes it
            former_ = handleSignal();
            startThread();
        } catch (...) {
            taken_.store(0, std::memory_order_release);  // [G1]
            throw;
        }
    }
    ~FileOnSignal() {
        ::sigaction(options_.signal, &former_, nullptr);
        mustEnd_.store(true, std::memory_order_relaxed);  // the write to the eventfd publishes it
        requestFile();
        thread_.join();
        taken_.store(0, std::memory_order_release);  // [G1]
    }
    FileOnSignal(const FileOnSignal&) = delete;
    FileOnSignal& operator=(const FileOnSignal&) = delete;

    bool forked() const noexcept { return process_ != ::getpid(); }

  private:
    struct EventFd {
        pid_t process;  // that has opened it; one that is forked shares it, and must not write to it
        int descriptor;
    };
    static_assert(std::atomic<EventFd>::is_always_lock_free, "a signal handler uses it");

    // The file before it has its name; removed after a failure or an exception.
    struct Part {
        ~Part() {
            if (!path.empty()) ::unlink(path.c_str());
        }
        std::string path;
    };

    static bool takeProcess() noexcept {
        const pid_t self = ::getpid();
        pid_t before = taken_.load(std::memory_order_relaxed);
        return before != self && taken_.compare_exchange_strong(before, self, std::memory_order_acquire,  // [G1]
                                                                std::memory_order_relaxed);
    }
    static void requestFile() noexcept {
        const EventFd eventFd = eventFd_.load(std::memory_order_relaxed);
        const std::uint64_t one = 1;
        if (eventFd.process != ::getpid()) return;
        [[maybe_unused]] const auto written = ::write(eventFd.descriptor, &one, sizeof one);
    }
    static void onSignal(int) noexcept {
        const int error = errno;
        requestFile();
        errno = error;
    }
    static void awaitRequest() noexcept {
        const int descriptor = eventFd_.load(std::memory_order_relaxed).descriptor;
        std::uint64_t count = 0;
        while (::read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {
        }
    }
    void openEventFd() const {
        const EventFd before = eventFd_.load(std::memory_order_relaxed);
        if (before.process == process_) return;
        const int fd = ::eventfd(0, EFD_CLOEXEC);
        if (fd < 0) throw SystemError(fromErrno(errno), "the eventfd of " + options_.owner);
        eventFd_.store({process_, fd}, std::memory_order_relaxed);
        if (before.process != 0) ::close(before.descriptor);  // inherited
    }
    struct sigaction handleSignal() const {
        struct sigaction action = {}, former = {};
        action.sa_handler = &onSignal;
        action.sa_flags = SA_RESTART | SA_ONSTACK;  // a fiber's own stack may be small
        if (::sigaction(options_.signal, &action, &former) < 0) {
            throw std::invalid_argument(options_.owner + ": signal " + std::to_string(options_.signal) +
                                        " cannot be handled; use SIGUSR1, for example");
        }
        return former;
    }
    void startThread() {
        try {
            const SignalsBlocked blocked;  // the thread handles no signals of the program
            thread_ = std::thread([this] { writeAtEachSignal(); });
        } catch (const std::system_error& error) {
            ::sigaction(options_.signal, &former_, nullptr);
            throw SystemError(fromErrno(error.code().value()), "starting the thread of " + options_.owner);
        }
    }

    void writeAtEachSignal() noexcept {
        ::pthread_setname_np(::pthread_self(), "weft-on-signal");
        for (;;) {
            awaitRequest();
            if (mustEnd_.load(std::memory_order_relaxed)) return;  // the read of the eventfd orders it
            writeOnce();
        }
    }
    void writeOnce() noexcept {
        try {
            const std::string failure = writeFile();
            if (!failure.empty()) return logFailure(failure);
            log(LogLevel::info, {options_.what, " written to ", options_.path});
        } catch (const std::exception& error) {
            logFailure(error.what());
        }
    }
    void logFailure(std::string_view failure) const noexcept {
        log(LogLevel::error, {"the ", options_.what, " cannot be written to ", options_.path, ": ", failure});
    }
    // Returns the error message, or an empty text on success. Replaces a regular file; writes directly to a pipe or a
    // device, and through a symbolic link. Once the object ends, a pipe that is full holds it up for a second at most.
    std::string writeFile() const {
        const std::string& path = options_.path;
        const std::filesystem::file_status status = std::filesystem::symlink_status(path);
        const bool replaces = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
        if (!replaces) return writeTo(path, OutputFile::Mode::existing);
        Part part{path + ".part"};
        std::string failure = writeTo(part.path, OutputFile::Mode::anew);
        if (!failure.empty()) return failure;
        if (std::rename(part.path.c_str(), path.c_str()) != 0) return fromErrno(errno).message();
        part.path.clear();
        return {};
    }
    std::string writeTo(const std::string& path, OutputFile::Mode mode) const {
        OutputFile file(path, mustEnd_, mode);
        std::ostream stream(&file);
        stream.imbue(std::locale::classic());
        if (file.error() == 0) options_.write(stream);
        stream.flush();
        if (file.error() == ETIMEDOUT) return "its reader has read nothing for a second";
        if (file.error() != 0) return fromErrno(file.error()).message();
        if (!stream) return "the stream failed";
        return {};
    }

    static inline std::atomic<pid_t> taken_{0};  // the process in which an object exists; 0: none
    // Written by that object, read by its thread; relaxed: the eventfd publishes it, and a write that waits for a
    // reader sees it sooner or later.
    static inline std::atomic<bool> mustEnd_{false};
    // Read by the handler. Made once in a process and never closed there, because a late handler may still write.
    // relaxed: the start of the thread orders the process's only store before its load; a handler uses nothing else.
    static inline std::atomic<EventFd> eventFd_{EventFd{0, -1}};

    const FileOnSignalOptions options_;
    const pid_t process_ = ::getpid();
    struct sigaction former_ = {};
    std::thread thread_;
};

}  // namespace weft::detail
