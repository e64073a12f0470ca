// SignalThread: calls a function at each signal, on a thread of its own. Private to the framework.
#pragma once

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include <sys/types.h>

#include <weft/scheduler/detail/kept_in_fork.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::detail {

// A signal has at most one in a process. A process that is forked meanwhile has neither the thread nor an eventfd of
// its own: there the owner keeps the object (KeptInFork).
class SignalThread : public KeptInFork {
  public:
    // `owner`: the class that has it, for errors. `act` must not throw; signals that come while it runs cause one more
    // call. Throws std::logic_error when the signal has such a thread, std::invalid_argument when it cannot be handled,
    // and SystemError when no descriptor or thread is left. Context: any thread.
    SignalThread(int signal, const std::string& owner, UniqueFunction<void()> act);
    // Gives the signal its former handler back, unless it has got another one since. Waits for the end of a call; one
    // that has not begun is not made.
    ~SignalThread();
    SignalThread(const SignalThread&) = delete;
    SignalThread& operator=(const SignalThread&) = delete;

    bool forked() const noexcept;
    // True once the object ends.
    const std::atomic<bool>& ends() const noexcept { return ends_; }
    // Whether one of these objects handles the signal.
    static bool handles(int signal) noexcept;

  private:
    struct Slot;

    static void onSignal(int signal) noexcept;
    void handleSignal(const std::string& owner);
    void restoreHandler() const noexcept;
    void startThread(const std::string& owner);
    void run() noexcept;

    const int signal_;
    UniqueFunction<void()> act_;
    Slot& slot_;
    const pid_t process_;
    struct sigaction former_ = {};
    // relaxed: the write to the eventfd publishes it to the thread; others only see it sooner or later.
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

}  // namespace weft::detail
