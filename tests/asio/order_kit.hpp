// What the tests of the order of completions share: a context whose type the program of a test does not know, the
// comparison with an io_context, and events that have happened before the next statement runs.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context.hpp>
#include <weft/framework/event_loop_group.hpp>

namespace weft::test {

using Trace = std::vector<std::string>;

// An io_context or a Context.
class AnyContext {
  public:
    virtual boost::asio::io_context& io() noexcept = 0;
    virtual std::size_t run() = 0;
    virtual std::size_t runOne() = 0;
    virtual std::size_t poll() = 0;
    virtual std::size_t pollOne() = 0;

  protected:
    ~AnyContext() = default;
};

template <class TheContext>
class ContextOf final : public AnyContext {
  public:
    template <class Argument>
    explicit ContextOf(Argument& argument) : context_(argument) {}

    boost::asio::io_context& io() noexcept override { return context_; }
    std::size_t run() override { return context_.run(); }
    std::size_t runOne() override { return context_.run_one(); }
    std::size_t poll() override { return context_.poll(); }
    std::size_t pollOne() override { return context_.poll_one(); }

  private:
    TheContext context_;
};

// A program on a context, which returns what it has observed. It is played several times.
using Program = std::function<Trace(AnyContext&)>;

inline Trace onIoContext(const Program& program) {
    const int oneThread = 1;  // the concurrency hint of a Context
    ContextOf<boost::asio::io_context> context(oneThread);
    return program(context);
}

inline Trace onContext(EventLoop& loop, const Program& program) {
    ContextOf<asio_io::Context> context(loop);
    return program(context);
}

// The loop of a carrier of its own, for one Context after another. `events`: its budget in a turn.
class LoopForContexts {
  public:
    explicit LoopForContexts(unsigned events = EventLoop::Options().ioEvents) : group_(optionsWith(events)) {}
    EventLoop& get() { return group_.loop(0); }

  private:
    static EventLoopGroupOptions optionsWith(unsigned events) {
        EventLoopGroupOptions options;
        options.name = "order";
        options.carriers = 1;
        options.ioHandler = asio_io::AsioIoHandler::wrap;
        options.loop.ioEvents = events;
        return options;
    }

    EventLoopGroup group_;
};

// The entries from `at` on, after the last that are equal in both.
inline std::string excerpt(const Trace& trace, std::size_t at) {
    constexpr std::size_t before = 6;
    constexpr std::size_t length = 18;
    std::string text;
    const std::size_t first = at - std::min(at, before);
    for (std::size_t i = first; i < std::min(trace.size(), first + length); ++i) text += ' ' + trace[i];
    return text;
}

inline std::string difference(const Trace& left, const Trace& right) {
    const auto at = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    const auto index = static_cast<std::size_t>(at.first - left.begin());
    return "from completion " + std::to_string(index) + ":\n " + excerpt(left, index) + "\n " + excerpt(right, index);
}

// Whether `program` observes the same on a Context of `loop` as on an io_context. It must observe the same on two
// io_contexts, or the comparison says nothing.
inline ::testing::AssertionResult ordersAlike(EventLoop& loop, const Program& program) {
    const Trace expected = onIoContext(program);
    const Trace repeated = onIoContext(program);
    if (expected != repeated)
        return ::testing::AssertionFailure() << "two io_contexts differ " << difference(expected, repeated);
    const Trace actual = onContext(loop, program);
    if (actual == expected) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "io_context and Context differ " << difference(expected, actual);
}

// ---- events that have happened before the next statement ----

inline void awaitReady(int fd, short events = POLLIN) {
    pollfd look{fd, events, 0};
    while (::poll(&look, 1, -1) < 0 && errno == EINTR) {
    }
}

// The descriptor through which the kernel reports expired timers is private to Asio's reactor. Access is not checked in
// an explicit instantiation.
int timerDescriptor(boost::asio::detail::epoll_reactor& reactor);

template <auto TimerFd>
struct ReactorMember {
    friend int timerDescriptor(boost::asio::detail::epoll_reactor& reactor) { return reactor.*TimerFd; }
};
template struct ReactorMember<&boost::asio::detail::epoll_reactor::timer_fd_>;

// Call it after a wait for a timer that has expired: the kernel reports that a little later.
inline void awaitExpiry(boost::asio::io_context& context) {
    awaitReady(timerDescriptor(boost::asio::use_service<boost::asio::detail::epoll_reactor>(context)));
}

}  // namespace weft::test
