// Recorder: a handler that records every event and operation and passes it on.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::test {

using Events = std::vector<std::string>;

inline bool isWritabilityChange(const std::string& event) {
    return event.ends_with("writable");
}

// Records "name:event", or only the event if the name is empty.
class Recorder : public ChannelDuplexHandler {
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
        note(ctx.channel().isWritable() ? "writable" : "unwritable");
        ctx.fireChannelWritabilityChanged();
    }
    void bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) override {
        noteOperation("bind");
        ctx.bind(local, std::move(promise));
    }
    void connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress* local,
                 ChannelPromise promise) override {
        noteOperation("connect");
        ctx.connect(remote, local, std::move(promise));
    }
    void disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        noteOperation("disconnect");
        ctx.disconnect(std::move(promise));
    }
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        noteOperation("close");
        ctx.close(std::move(promise));
    }
    void deregister(ChannelHandlerContext& ctx, ChannelPromise promise) override {
        noteOperation("deregister");
        ctx.deregister(std::move(promise));
    }
    void read(ChannelHandlerContext& ctx) override {
        if (recordsReadRequests) note("readRequest");
        ctx.read();
    }
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override {
        noteOperation("write");
        ctx.write(std::move(message), std::move(promise));
    }
    void flush(ChannelHandlerContext& ctx) override {
        noteOperation("flush");
        ctx.flush();
    }

    bool recordsOperations = true;
    bool recordsReadRequests = false;
    bool reportsDeath = false;

  protected:
    void note(const std::string& what) { events_.push_back(name_.empty() ? what : name_ + ":" + what); }

  private:
    void noteOperation(const std::string& what) {
        if (recordsOperations) note(what);
    }
    std::string name_;
    Events& events_;
};

}  // namespace weft::test
