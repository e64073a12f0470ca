// Context: an io_context whose handlers run on a carrier.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <boost/asio/io_context.hpp>

#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/asio_io/detail/build_tag.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/event_loop.hpp>

namespace weft {
class EventLoopGroup;
}

namespace weft::asio_io {

namespace detail {
class Service;

// A base before the io_context: handlers that are destroyed with that may still use the service.
struct ServiceOwner {
    std::shared_ptr<Service> service_;
};
}  // namespace detail

// Replaces boost::asio::io_context in an Asio program:
//     weft::asio_io::Context context;                        // was: boost::asio::io_context context;
//     boost::asio::ip::tcp::acceptor acceptor(context, ...);
//     context.run();
// It is an io_context, with io_context's executor and its order of completions, so any function that takes an
// io_context& accepts it. Its handlers run on the carrier's thread, never on that of run()'s caller, one at a time: no
// strand is needed, and thread-local state of the caller is not visible to them. Nothing runs before run(). Handlers
// must not block; fibers that they spawn may (Context::loop().carrier()->spawn()).
// Do not call io_context's own run(), poll() and their variants through an io_context&: they throw std::logic_error
// when Asio would wait for events, and without I/O objects wait for posts; while the Context runs, they take its
// handlers to another thread. stop(), stopped() and restart() may be called on either, except that a ContextGroup's
// Context must be restarted through the Context.
// Services are constructed with an io_context&, as usual. Lifetime: as for an io_context; sockets and timers must not
// outlive it. The destructor destroys the handlers that wait in the context, in a fiber of the carrier. It cancels the
// functions of FiberExecutors and FiberStrands and waits for them. Fibers of the carrier that wait in use_fiber, or for
// something that such a handler holds, have run until they wait again or end; a fiber that then goes on with the
// context's objects must be joined before. After exit() in a handler the destructor only destroys the handlers. Context
// of the constructor and destructor: a thread or a fiber, never an event loop's dispatch nor a function of its own
// executors, for which it would wait (both asserted).
class Context : private detail::ServiceOwner, public boost::asio::io_context {
  public:
    // Creates its own carrier, which has Weft's sockets in addition to Asio's. Ignores `concurrencyHint`.
    // Throws as EventLoopGroup's constructor.
    Context(detail::ThisAsio = {});
    explicit Context(int concurrencyHint, detail::ThisAsio = {});
    // Uses a running loop. Throws std::logic_error unless the loop has an AsioIoHandler that serves no Context yet,
    // BlockingOperationException inside dispatch, and SystemError when the loop has ended or the kernel refuses. The
    // loop may end before the Context, but must not be destroyed before it.
    explicit Context(EventLoop& loop, detail::ThisAsio = {});
    ~Context();

    EventLoop& loop() const noexcept;
    // get_executor() is io_context's. For an executor that runs each function in a fiber, use FiberExecutor(context).

    // As io_context's: run until stop(), until no work is left, or (poll) until no handler is ready; run_one() and
    // poll_one() also return once one handler has run. They return the number of handlers run. When several callers run
    // the context at once, the oldest caller counts the handlers and throws their exceptions; when work runs out or
    // stop() is called, all return together. After an exception, run() may be called again. After a return because of
    // stop() or lack of work, call restart() before the next run.
    // Blocks the thread or the fiber, which may belong to the Context's own carrier. Throws BlockingOperationException
    // inside any loop's dispatch (a handler), SystemError(operation_aborted) when the fiber is cancelled or the loop
    // has ended, and std::logic_error for a Context of a ContextGroup.
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

    // As for io_context, while no run() is active; stop() and stopped() are io_context's. Never blocks; for a Context
    // of a ContextGroup throws std::bad_alloc; then call it again. Context: any thread, including handlers.
    void restart();

    detail::Service& service() const noexcept { return *service_; }  // for this room

  private:
    friend class ContextGroup;
    struct ForLife {};
    Context(EventLoop& loop, ForLife);

    static constexpr std::size_t all = ~std::size_t{0};

    count_type serve(std::size_t most, bool waits, Deadline deadline, const char* call);
    template <class OfClock, class OfDuration>
    count_type serveUntil(std::size_t most, const std::chrono::time_point<OfClock, OfDuration>& time, const char* call);

    // The steps of the end after Service::leave(), in this order; the ContextGroup does each for all its contexts.
    [[nodiscard]] bool endWaits() noexcept;
    void end() noexcept;
    void endInExit() noexcept;
    void destroyHandlersInExit() noexcept;

    std::unique_ptr<EventLoopGroup> own_;
};

// The executor of a Context, an io_context's.
using LoopExecutor = Context::executor_type;

namespace detail {

// Time left until `time` by its own clock, clamped to a Duration.
template <class OfClock, class OfDuration>
Duration timeUntil(const std::chrono::time_point<OfClock, OfDuration>& time) {
    const Duration now = saturated(OfClock::now().time_since_epoch());
    return deadlineAfter(TimePoint(saturated(time.time_since_epoch())), -now).time_since_epoch();
}

}  // namespace detail

// Rereads a clock that can be set, or that runs at its own pace, once per second, as io_context does.
template <class OfClock, class OfDuration>
Context::count_type Context::serveUntil(std::size_t most, const std::chrono::time_point<OfClock, OfDuration>& time,
                                        const char* call) {
    Duration left = detail::timeUntil(time);
    if constexpr (std::is_same_v<OfClock, std::chrono::steady_clock>) {
        return serve(most, true, deadlineAfter(left), call);
    }
    constexpr Duration checkInterval = std::chrono::seconds(1);
    count_type ran = 0;
    for (; ran < most && left > Duration::zero() && !stopped(); left = detail::timeUntil(time))
        ran += serve(most, true, deadlineAfter(std::min(left, checkInterval)), call);
    return ran;
}

}  // namespace weft::asio_io
