// ScriptedBench: an epoll handler over a scripted kernel, an embedded loop and recording channels. Everything runs step
// by step, on one thread, without real time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/manual_clock.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

#include "transports/scripted_system_calls.hpp"

namespace weft::test {

using Log = std::vector<std::string>;

// Records the events that reach it, with the bytes of each read.
class ByteRecorder final : public ChannelInboundHandler {
  public:
    explicit ByteRecorder(Log& log) : log_(log) {}

    void channelActive(ChannelHandlerContext& ctx) override {
        log_.push_back("active");
        ctx.fireChannelActive();
    }
    void channelInactive(ChannelHandlerContext&) override { log_.push_back("inactive"); }
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (ChannelRef* child = message.getIf<ChannelRef>()) {
            log_.push_back("child");
            children.push_back(*child);
        } else {
            const auto bytes = message.get<Buffer>().view();
            log_.push_back(bytes.size() > 20 ? "read " + std::to_string(bytes.size()) : "read " + std::string(bytes));
        }
        if (onRead) onRead();
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        log_.push_back("complete");
        ctx.fireChannelReadComplete();
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        log_.push_back("error " + std::to_string(errorCodeOf(cause).value()));
    }

    std::vector<ChannelRef> children;
    std::function<void()> onRead;

  private:
    Log& log_;
};

// Declare the logs before the bench: its destructor closes the channels, and they log that.
class ScriptedBench {
  public:
    ScriptedBench() { poller.openWithWakeFd(-1); }
    ~ScriptedBench() {
        poller.prepareToClose();
        loop.runTasks();
        poller.close();
        loop.runTasks();
    }

    // An accepted, registered connection on an invented descriptor.
    ChannelRef stream(int fd, Log& log, bool autoRead = true) {
        ChannelRef channel = Channel::create(loop);
        channel->attach(poller.stream(Fd(fd, calls), *channel));
        channel->setActive(true);
        return start(channel, log, autoRead);
    }
    // A listener that listens.
    ChannelRef listener(int fd, Log& log, bool autoRead = true) {
        ChannelRef channel = Channel::create(loop);
        channel->attach(poller.listener(Fd(fd, calls), *channel));
        start(channel, log, autoRead);
        channel->bind(SocketAddress::loopbackV4(0));
        loop.runTasks();
        return channel;
    }
    ChannelRef connector(int fd, Log& log) {
        ChannelRef channel = Channel::create(loop);
        channel->attach(poller.connector(Fd(fd, calls), *channel));
        return start(channel, log, true);
    }

    // One poll that reports these events, without the tasks that follow it.
    PollResult poll(std::vector<std::pair<int, std::uint32_t>> events = {}, unsigned budget = 256) {
        if (!events.empty()) calls.nextEvents(std::move(events));
        return poller.poll(nullptr, never, {std::chrono::hours(1), budget});
    }
    // One turn of a loop: poll, tasks, flush point.
    PollResult turn(std::vector<std::pair<int, std::uint32_t>> events = {}, unsigned budget = 256) {
        const PollResult result = poll(std::move(events), budget);
        loop.runTasks();
        return result;
    }
    static ByteRecorder& recorderOf(const ChannelRef& channel) { return *channel->pipeline().get<ByteRecorder>(); }

    ManualClock clock;
    ScriptedSystemCalls calls;
    EpollIoHandler poller{calls, clock};
    EventLoop loop{clock};

  private:
    ChannelRef start(ChannelRef channel, Log& log, bool autoRead) {
        channel->setOption(ChannelOption::AUTO_READ, autoRead);
        channel->pipeline().addLast<ByteRecorder>(log);
        channel->registerWithLoop();
        loop.runTasks();
        return channel;
    }
};

}  // namespace weft::test
