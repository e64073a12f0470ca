// I/O handlers between an event loop and a transport's handler: one counts calls, one nests the inner handler under an
// epoll set of its own. Also an event loop with a channel whose bytes are the conformance kit's events.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "support/sample_pollers.hpp"

#include <sys/socket.h>

namespace weft::test {

// Forwards and counts.
template <class Inner>
class BasicCountingIoHandler : public SocketIoHandler {
  public:
    void open(Carrier& carrier) override { inner.open(carrier); }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        polls.fetch_add(1);
        return inner.poll(guard, deadline, budget);
    }
    void wakeup() noexcept override {
        wakeups.fetch_add(1);
        inner.wakeup();
    }
    bool hasWork() const noexcept override { return inner.hasWork(); }
    int pollFd() const noexcept override { return inner.pollFd(); }
    void prepareToClose() override { inner.prepareToClose(); }
    bool closable() const noexcept override { return inner.closable(); }
    void close() override { inner.close(); }

    std::unique_ptr<ChannelSink> stream(Fd fd, Channel& channel) override {
        return inner.stream(std::move(fd), channel);
    }
    std::unique_ptr<ChannelSink> listener(Fd fd, Channel& channel, ChildSetup children) override {
        return inner.listener(std::move(fd), channel, std::move(children));
    }
    std::unique_ptr<ChannelSink> connector(Fd fd, Channel& channel) override {
        return inner.connector(std::move(fd), channel);
    }
    std::unique_ptr<FiberStream> fiberStream(Fd fd) override { return inner.fiberStream(std::move(fd)); }
    std::unique_ptr<FiberListener> fiberListener(Fd fd) override { return inner.fiberListener(std::move(fd)); }
    std::unique_ptr<FdWatch> watch(Fd fd) override { return inner.watch(std::move(fd)); }
    SystemCalls& systemCalls() noexcept override { return inner.systemCalls(); }

    Inner inner;
    std::atomic<std::uint64_t> polls{0};
    std::atomic<std::uint64_t> wakeups{0};
};
using CountingIoHandler = BasicCountingIoHandler<EpollIoHandler>;

// Blocks in its own epoll set, which holds only the inner handler's pollFd(). Polls the inner handler only when that is
// readable or, with `asksForWork`, when the inner handler has work of its own.
template <bool asksForWork, class Inner = EpollIoHandler>
class BasicNestingIoHandler final : public BasicCountingIoHandler<Inner> {
  public:
    using BasicCountingIoHandler<Inner>::inner;

    void open(Carrier& carrier) override {
        inner.open(carrier);
        outer_.add(inner.pollFd(), EPOLLIN);  // level-triggered
    }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        this->polls.fetch_add(1);
        if (!hasWork() && outer_.look() == 0) {
            if (guard == nullptr || !guard->enter()) return {};
            const int ready = outer_.wait(deadline);
            guard->leave();
            if (ready == 0) return {};
        }
        return inner.poll(nullptr, deadline, budget);
    }
    bool hasWork() const noexcept override { return asksForWork && inner.hasWork(); }

  private:
    EpollSet outer_;
};
using NestingIoHandler = BasicNestingIoHandler<true>;

// A connected pair of stream sockets.
struct SocketPair {
    SocketPair() {
        int fds[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
            throw SystemError(fromErrno(errno), "socketpair");
        }
        ours = Fd(fds[0]);
        theirs = Fd(fds[1]);
    }
    void send(std::string_view bytes) const {
        [[maybe_unused]] const auto sent = ::send(ours.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    Fd ours;
    Fd theirs;
};

// Dispatches one event of the queue for each byte that it reads.
class EventSource final : public ChannelInboundHandler {
  public:
    explicit EventSource(EventQueue& events) : events_(events) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        std::exception_ptr error;
        for (std::size_t left = message.get<Buffer>().view().size(); left > 0; --left) {
            try {
                events_.dispatchOne();
            } catch (...) {  // the other bytes are events too
                error = std::current_exception();
            }
        }
        if (error) std::rethrow_exception(error);
    }

  private:
    EventQueue& events_;
};

// The adapter of the conformance kit: an event is a byte on a connection, and the connection's handler dispatches it.
template <class Handler>
class ChannelPoller {
  public:
    Future<void> start(Carrier& carrier) {
        auto handler = std::make_unique<Handler>();
        handler_ = handler.get();
        loop_ = std::make_unique<EventLoop>(carrier, std::move(handler));
        Future<void> ended = loop_->start();
        post([this] { connect(); });
        return ended;
    }
    void stop() { loop_->stop(); }
    void inject(PollerEvent event) {
        events_.push(std::move(event));
        sockets_.send("!");
    }
    // When reading is switched on again, the edge of the bytes in the socket is long past: only the handler knows of
    // them.
    void makeWork(PollerEvent event) {
        events_.push(std::move(event));
        channel_->setOption(ChannelOption::AUTO_READ, false);
        sockets_.send("!");
        thisFiber::sleepFor(std::chrono::microseconds(100));
        channel_->setOption(ChannelOption::AUTO_READ, true);
    }
    void post(std::function<void()> task) {
        try {
            loop_->execute(std::move(task));
        } catch (const SystemError&) {  // the loop has ended meanwhile
        }
    }
    std::uint64_t looks() const { return handler_->polls; }
    std::uint64_t wakeups() const { return handler_->wakeups; }

  private:
    void connect() {
        channel_ = Channel::create(*loop_);
        channel_->attach(handler_->stream(std::move(sockets_.theirs), *channel_));
        channel_->setActive(true);  // a connected socket
        channel_->pipeline().addLast<EventSource>(events_);
        channel_->registerWithLoop();
    }

    SocketPair sockets_;
    EventQueue events_;
    std::unique_ptr<EventLoop> loop_;
    Handler* handler_ = nullptr;  // owned by the loop
    ChannelRef channel_;
};

}  // namespace weft::test
