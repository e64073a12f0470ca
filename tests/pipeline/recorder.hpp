// Recorder: a handler that records every event and operation as "name:event" and passes it on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::test {

using Events = std::vector<std::string>;

class Recorder final : public ChannelDuplexHandler {
  public:
    Recorder(std::string name, Events& events) : name_(std::move(name)), events_(events) {}
    ~Recorder() override {
        if (reportsDeath) note("destroyed");
    }

    void handlerAdded(ChannelHandlerContext&) override { note("added"); }
    void handlerRemoved(ChannelHandlerContext&) override { note("removed"); }
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override {
        note("exception " + describe(cause));
        ctx.fireExceptionCaught(cause);
    }
    void channelRegistered(ChannelHandlerContext& ctx) override {
        note("registered");
        ctx.fireChannelRegistered();
    }
    void channelUnregistered(ChannelHandlerContext& ctx) override {
        note("unregistered");
        ctx.fireChannelUnregistered();
    }
    void channelActive(ChannelHandlerContext& ctx) override {
        note("active");
        ctx.fireChannelActive();
    }
    void channelInactive(ChannelHandlerContext& ctx) override {
        note("inactive");
        ctx.fireChannelInactive();
    }
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        note("read");
        ctx.fireChannelRead(std::move(message));
    }
    void channelReadComplete(ChannelHandlerContext& ctx) override {
        note("readComplete");
        ctx.fireChannelReadComplete();
    }
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
        note("event " + std::string(event.typeName()));
        ctx.fireUserEventTriggered(std::move(event));
    }
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override {
        note("writability");
        ctx.fireChannelWritabilityChanged();
    }
    void bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) override {
        note("bind");
        ctx.bind(local, std::move(promise));
    }
    void connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress* local,
                 ChannelPromise promise) override {
        note("connect");
        ctx.connect(remote, local, std::move(promise));
    }
    void disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        note("disconnect");
        ctx.disconnect(std::move(promise));
    }
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        note("close");
        ctx.close(std::move(promise));
    }
    void deregister(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        note("deregister");
        ctx.deregister(std::move(promise));
    }
    void read(ChannelHandlerContext& ctx) override {
        if (recordsReadRequests) note("readRequest");
        ctx.read();
    }
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        note("write");
        ctx.write(std::move(message), std::move(promise));
    }
    void flush(ChannelHandlerContext& ctx) override {
        note("flush");
        ctx.flush();
    }

    bool recordsReadRequests = false;
    bool reportsDeath = false;

  private:
    void note(const std::string& what) { events_.push_back(name_ + ":" + what); }
    std::string name_;
    Events& events_;
};

}  // namespace weft::test
