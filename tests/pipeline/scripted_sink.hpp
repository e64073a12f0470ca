// ScriptedSink: a byte transport that the test controls; it records the channel's calls.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/uio.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/manual_clock.hpp>

namespace weft::test {

// State that outlives the sink.
struct SinkScript {
    std::vector<std::string> calls;  // "registered", "bind", "wantRead 1", "flush", "close", ...
    std::string written;             // bytes that the kernel has accepted
    std::size_t room = std::numeric_limits<std::size_t>::max();  // bytes that the kernel still accepts
    std::size_t mostPieces = 0;                                  // in one gather
    bool wantsRead = false;
    bool listens = false;             // a listener: bind() makes it active
    int linger = -1;                  // SO_LINGER in seconds; 0: a close is a reset
    bool closesLater = false;         // keeps the close promise instead of completing it
    bool connectsLater = false;       // keeps the connect promise instead of completing it
    bool writesOncePerFlush = false;  // like a sink that makes one system call and is not full
    bool reportsLater = false;        // accepts bytes but does not report them: the test calls onWritten
    int optionsSet = 0;
    ErrorCode registerError;
    ErrorCode optionError;
    ErrorCode shutdownError;
    SocketAddress remote;
    ChannelPromise closing;
    ChannelPromise connecting;

    std::size_t count(const std::string& call) const {
        return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), call));
    }
};

class ScriptedSink final : public ChannelSink {
  public:
    ScriptedSink(Channel& channel, std::shared_ptr<SinkScript> script)
        : channel_(channel), script_(std::move(script)) {}
    ~ScriptedSink() override { script_->calls.push_back("destroyed"); }

    void registered() override {
        if (script_->registerError) throw SystemError(script_->registerError);
        script_->calls.push_back("registered");
    }
    bool listens() const noexcept override { return script_->listens; }
    void bind(const SocketAddress&, ChannelPromise promise) override {
        script_->calls.push_back("bind");
        promise.trySuccess();
    }
    void connect(const SocketAddress&, const SocketAddress*, ChannelPromise promise) override {
        script_->calls.push_back("connect");
        if (script_->connectsLater) {
            script_->connecting = std::move(promise);
        } else {
            promise.trySuccess();
        }
    }
    void wantRead(bool on) override {
        script_->calls.push_back(on ? "wantRead 1" : "wantRead 0");
        script_->wantsRead = on;
    }
    void flush(ChannelOutput& output) override {
        script_->calls.push_back("flush");
        const bool atClose = channel_.closed();  // a filter's last bytes
        while (!output.empty() && script_->room > 0 && channel_.closed() == atClose) {
            iovec pieces[64];
            const std::size_t count = output.gather(pieces, 64, script_->room);
            script_->mostPieces = std::max(script_->mostPieces, count);
            std::size_t bytes = 0;
            for (std::size_t i = 0; i < count; ++i) {
                script_->written.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
                bytes += pieces[i].iov_len;
            }
            if (script_->room != std::numeric_limits<std::size_t>::max()) script_->room -= bytes;
            if (script_->reportsLater) return;
            if (channel_.onWritten(bytes) || script_->writesOncePerFlush) return;
        }
    }
    void shutdownOutput(ChannelPromise promise) override {
        script_->calls.push_back("shutdownOutput");
        if (script_->shutdownError) {
            promise.tryFailure(script_->shutdownError);
        } else {
            promise.trySuccess();
        }
    }
    void deregister(ChannelPromise promise) override {
        script_->calls.push_back("deregister");
        promise.trySuccess();
    }
    void close(ChannelPromise promise) override {
        script_->calls.push_back("close");
        if (script_->closesLater) {
            script_->closing = std::move(promise);
        } else {
            promise.trySuccess();
        }
    }
    ErrorCode setOption(SocketOption option, int value) override {
        ++script_->optionsSet;
        if (option == SocketOption::linger) script_->linger = value;
        return script_->optionError;
    }
    ErrorCode getOption(SocketOption option, int& value) const override {
        value = option == SocketOption::linger ? script_->linger : 1;
        return {};
    }
    SocketAddress localAddress() const override { return {}; }
    SocketAddress remoteAddress() const override { return script_->remote; }

  private:
    Channel& channel_;
    std::shared_ptr<SinkScript> script_;
};

// A channel over a ScriptedSink on an embedded loop, not yet registered.
struct ScriptedChannel {
    ManualClock clock;
    EventLoop loop{clock};
    std::shared_ptr<SinkScript> sink = std::make_shared<SinkScript>();
    ChannelRef channel = Channel::create(loop);

    explicit ScriptedChannel(bool active = true) {
        channel->attach(std::make_unique<ScriptedSink>(*channel, sink));
        channel->setActive(active);
    }
    ~ScriptedChannel() {
        channel->close({});
        if (sink->closing) sink->closing.trySuccess();
        loop.runTasks();
        sink->closing = sink->connecting = {};  // the promises hold the channel, which holds the sink
    }
    Channel* operator->() { return channel.get(); }
    ChannelPipeline& pipeline() { return channel->pipeline(); }
    void start() {
        channel->registerWithLoop({});
        loop.runTasks();
    }
    void run() { loop.runTasks(); }
    // Delivers one batch, as a transport does.
    void deliver(std::initializer_list<const char*> texts) {
        for (const char* text : texts) channel->onRead(Buffer::copyOf(text));
        channel->onReadComplete();
    }
};

}  // namespace weft::test
