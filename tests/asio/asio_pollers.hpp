// Event loops that serve a Context, as adapters of the conformance kit: events arrive through Asio or through a channel
// of the wrapped handler.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context.hpp>

#include "transports/composition_handlers.hpp"

namespace weft::test {

// Counts the event loop's calls.
class CountingDecorator final : public IoHandlerDecorator {
  public:
    using IoHandlerDecorator::IoHandlerDecorator;
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        polls.fetch_add(1);
        return IoHandlerDecorator::poll(guard, deadline, budget);
    }
    void wakeup() noexcept override {
        wakeups.fetch_add(1);
        IoHandlerDecorator::wakeup();
    }

    std::atomic<std::uint64_t> polls{0};
    std::atomic<std::uint64_t> wakeups{0};
};

// A loop with a Context that a thread runs until the loop ends.
class ServedLoop {
  public:
    Future<void> start(Carrier& carrier) {
        auto counting = std::make_unique<CountingDecorator>(
            std::make_unique<asio_io::AsioIoHandler>(std::make_unique<EpollIoHandler>()));
        handler_ = counting.get();
        loop_ = std::make_unique<EventLoop>(carrier, std::move(counting));
        Future<void> ended = loop_->start();
        context_.emplace(*loop_);
        work_.emplace(context_->get_executor());
        runner_ = std::thread([this] { runToTheEnd(); });
        return ended;
    }
    ~ServedLoop() {
        if (runner_.joinable()) runner_.join();
    }
    void stop() { loop_->stop(); }
    void post(std::function<void()> task) {
        try {
            loop_->execute(std::move(task));
        } catch (const SystemError&) {  // the loop has ended meanwhile
        }
    }
    std::uint64_t looks() const { return handler_->polls; }
    std::uint64_t wakeups() const { return handler_->wakeups; }
    EpollIoHandler& sockets() { return static_cast<EpollIoHandler&>(asio_io::AsioIoHandler::of(*loop_)->wrapped()); }
    EventLoop& loop() { return *loop_; }
    asio_io::Context& context() { return *context_; }

  private:
    // A handler that throws ends run(); then run() is called again.
    void runToTheEnd() {
        for (bool again = true; again;) {
            try {
                context_->run();
                again = false;
            } catch (const SystemError&) {
                again = false;  // the loop has ended
            } catch (...) {
            }
        }
    }

    std::unique_ptr<EventLoop> loop_;
    CountingDecorator* handler_ = nullptr;  // owned by the loop
    std::optional<asio_io::Context> context_;
    std::optional<boost::asio::executor_work_guard<asio_io::Context::executor_type>> work_;
    std::thread runner_;
};

// An event is a byte on a descriptor that Asio reads.
class AsioPoller : public ServedLoop {
  public:
    Future<void> start(Carrier& carrier) {
        Future<void> ended = ServedLoop::start(carrier);
        source_.emplace(context(), sockets_.theirs.release());
        read();
        return ended;
    }
    void inject(PollerEvent event) {
        events_.push(std::move(event));
        sockets_.send("!");
    }

  private:
    void read() {
        source_->async_read_some(boost::asio::buffer(bytes_), [this](auto error, std::size_t size) {
            if (error) return;
            read();
            dispatch(size);
        });
    }
    void dispatch(std::size_t count) {
        std::exception_ptr error;
        for (; count > 0; --count) {
            try {
                events_.dispatchOne();
            } catch (...) {  // the other bytes are events too
                error = std::current_exception();
            }
        }
        if (error) std::rethrow_exception(error);
    }

    SocketPair sockets_;
    EventQueue events_;
    std::array<char, 64> bytes_;
    std::optional<boost::asio::posix::stream_descriptor> source_;
};

// An event is a byte on a channel of the wrapped handler, which Asio watches.
class ChannelUnderAsio : public ServedLoop {
  public:
    Future<void> start(Carrier& carrier) {
        Future<void> ended = ServedLoop::start(carrier);
        post([this] { connect(); });
        return ended;
    }
    void inject(PollerEvent event) {
        events_.push(std::move(event));
        sockets_.send("!");
    }
    void makeWork(PollerEvent event) {
        events_.push(std::move(event));
        channel_->setOption(ChannelOption::AUTO_READ, false);
        sockets_.send("!");
        thisFiber::sleepFor(std::chrono::microseconds(100));
        channel_->setOption(ChannelOption::AUTO_READ, true);
    }

  private:
    void connect() {
        channel_ = Channel::create(loop());
        channel_->attach(this->ServedLoop::sockets().stream(std::move(sockets_.theirs), *channel_));
        channel_->setActive(true);  // a connected socket
        channel_->pipeline().addLast<EventSource>(events_);
        channel_->registerWithLoop();
    }

    SocketPair sockets_;
    EventQueue events_;
    ChannelRef channel_;
};

}  // namespace weft::test
