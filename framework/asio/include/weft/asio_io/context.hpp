// Context: an io_context whose handlers run on a carrier.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <boost/asio/io_context.hpp>

#include <weft/asio_io/detail/served_context.hpp>
#include <weft/asio_io/loop_executor.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {
class EventLoopGroup;
}

namespace weft::asio_io {

// Takes the place of boost::asio::io_context in an Asio program:
//     weft::asio_io::Context context;                        // was: boost::asio::io_context context;
//     boost::asio::ip::tcp::acceptor acceptor(context, ...);
//     context.run();
// It is an io_context, so whatever wants an io_context& takes it. Its handlers run on the carrier's thread, never on
// that of run()'s caller, one at a time: no strand is needed, and thread-local state of the caller is not there.
// Nothing runs before run(). Handlers must not block; a fiber that one of them spawned may
// (Context::loop().carrier()->spawn()). The functions run(), poll() and their variants of io_context itself must not be
// called, through an io_context&: they throw std::logic_error where Asio would look for events on another thread.
// stop(), stopped() and restart() are the same in both, except that restart() of a ContextGroup's Context must be called
// on the Context. Functions posted through the io_context& and those posted
// through the Context are two queues, each in order; and inside one of the latter
// io_context::executor_type::running_in_this_thread() is false, so dispatch() to that executor, or to an
// io_context::strand, queues. Services are made with an io_context&, as ever. Lifetime: as an io_context's; sockets and
// timers must not outlive it. Made and destroyed by a thread or a fiber, never inside an event loop's dispatch
// (asserted).
class Context : public detail::ServedContext {
  public:
    using executor_type = LoopExecutor;

    // A carrier of its own, with sockets of Weft beside Asio's. The number of threads that an io_context takes as a
    // hint is ignored. Throws as EventLoopGroup's constructor.
    Context();
    explicit Context(int concurrencyHint);
    // On a loop that has been started, with an AsioIoHandler that serves no Context yet, or std::logic_error. The loop
    // must not be destroyed before the Context, but may have ended. Throws BlockingOperationException inside dispatch,
    // SystemError when the loop has ended or the kernel refuses.
    explicit Context(EventLoop& loop);
    ~Context();

    executor_type get_executor() noexcept { return {this, 0, {}}; }
    // FiberExecutor(context) runs each function in a fiber.

    // As io_context's: until stop(), until no work is left, or (poll) until no handler is ready; run_one() and
    // poll_one() until one handler has run. Return how many have run. When several callers run it at once, the oldest
    // counts them; for want of work and by stop() all return together. A handler's exception is thrown by the oldest,
    // and run() may be called again; a second exception of the same handler is logged. After a return for want of work,
    // or after stop(), restart() comes before the next run. Blocks the thread or the fiber, also one of the Context's
    // own carrier. Throws BlockingOperationException inside any loop's dispatch (a handler),
    // SystemError(operation_aborted) when the fiber is cancelled or the loop has ended, std::logic_error for a Context
    // of a ContextGroup.
    count_type run() { return serve(all, true, never, "asio_io::Context::run"); }
    count_type run_one() { return serve(1, true, never, "asio_io::Context::run_one"); }
    count_type poll() { return serve(all, false, never, "asio_io::Context::poll"); }
    count_type poll_one() { return serve(1, false, never, "asio_io::Context::poll_one"); }
    template <class Rep, class Period>
    count_type run_for(const std::chrono::duration<Rep, Period>& time) {
        return serve(all, true, deadlineAfter(saturated(time)), "asio_io::Context::run_for");
    }
    template <class Rep, class Period>
    count_type run_one_for(const std::chrono::duration<Rep, Period>& time) {
        return serve(1, true, deadlineAfter(saturated(time)), "asio_io::Context::run_one_for");
    }
    template <class OfClock, class OfDuration>
    count_type run_until(const std::chrono::time_point<OfClock, OfDuration>& time) {
        return serveUntil(all, time, "asio_io::Context::run_until");
    }
    template <class OfClock, class OfDuration>
    count_type run_one_until(const std::chrono::time_point<OfClock, OfDuration>& time) {
        return serveUntil(1, time, "asio_io::Context::run_one_until");
    }

    // Any thread, also a handler; never block.
    void stop();
    bool stopped() const { return boost::asio::io_context::stopped(); }
    void restart();

  private:
    friend class ContextGroup;
    struct ForLife {};
    Context(EventLoop& loop, ForLife);

    static constexpr std::size_t all = ~std::size_t{0};

    count_type serve(std::size_t most, bool waits, Deadline deadline, const char* call);
    template <class OfClock, class OfDuration>
    count_type serveUntil(std::size_t most, const std::chrono::time_point<OfClock, OfDuration>& time, const char* call);

    std::unique_ptr<EventLoopGroup> own_;
    bool left_ = false;  // the loop, by the ContextGroup
};

namespace detail {

// How long until then by its own clock, or the nearest Duration.
template <class OfClock, class OfDuration>
Duration timeUntil(const std::chrono::time_point<OfClock, OfDuration>& time) {
    const Duration now = saturated(OfClock::now().time_since_epoch());
    return deadlineAfter(TimePoint(saturated(time.time_since_epoch())), -now).time_since_epoch();
}

}  // namespace detail

// A clock that can be set, or that runs at its own pace, is read again each second, as io_context does.
template <class OfClock, class OfDuration>
Context::count_type Context::serveUntil(std::size_t most, const std::chrono::time_point<OfClock, OfDuration>& time,
                                        const char* call) {
    Duration left = detail::timeUntil(time);
    if constexpr (std::is_same_v<OfClock, std::chrono::steady_clock>) {
        return serve(most, true, deadlineAfter(left), call);
    }
    constexpr Duration lookAgain = std::chrono::seconds(1);
    count_type ran = 0;
    for (; ran < most && left > Duration::zero() && !stopped(); left = detail::timeUntil(time))
        ran += serve(most, true, deadlineAfter(std::min(left, lookAgain)), call);
    return ran;
}

// Each ServedContext is one.
inline Context& detail::ExecutorBase::context() const noexcept {
    return static_cast<Context&>(*context_);
}

}  // namespace weft::asio_io
