#include <weft/pipeline/channel_handler_context.hpp>

#include <memory>
#include <stdexcept>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/scheduler/log.hpp>

#include "context_calls.hpp"
#include "delivery.hpp"
#include "pipeline_entry.hpp"
#include "posted_write.hpp"

namespace weft {

using detail::Delivery;
using detail::Event;
using detail::PipelineEntry;

namespace {

// TH-2: an operation from outside the loop becomes a task. When the loop has ended it is refused with the promise.
template <class F>
[[gnu::cold, gnu::noinline]] void post(Channel& channel, const ChannelPromise& promise, F operation) {
    try {
        channel.loop().execute(
            [pin = detail::ChannelPin(channel), operation = std::move(operation)]() mutable { operation(); });
    } catch (...) {
        promise.tryFailure(std::current_exception());
    }
}

}  // namespace

ChannelPipeline& ChannelHandlerContext::pipeline() const noexcept {
    return channel_.pipeline();
}
EventLoop& ChannelHandlerContext::loop() const noexcept {
    return channel_.loop();
}
ChannelPromise ChannelHandlerContext::newPromise() const {
    return ChannelPromise(channel_);
}

std::string ChannelHandlerContext::name() const {
    return name_.empty() ? std::string(typeName_) + "#" + std::to_string(ordinal_) : name_;
}

void ChannelHandlerContext::becomeAdded() noexcept {
    state_ = HandlerState::added;
    mask_ = fullMask_;
    if (watchesReads_) countReadWatcher(true);
}

void ChannelHandlerContext::becomeRemoved() noexcept {
    if (watchesReads_) countReadWatcher(false);
    state_ = HandlerState::removed;
    mask_ = 0;
}

void ChannelHandlerContext::watchReadCycles(bool on) noexcept {
    if (on == watchesReads_ || !(fullMask_ & Event::readCycle)) return;
    watchesReads_ = on;
    countReadWatcher(on);
}

void ChannelHandlerContext::countReadWatcher(bool on) noexcept {
    if (state_ != HandlerState::added) return;
    unsigned& watchers = channel_.pipeline_.readWatchers_;
    on ? ++watchers : --watchers;
}

// E-1: what a handler throws from an inbound callback comes to its own exceptionCaught().
template <class Call>
void ChannelHandlerContext::invokeInbound(Call call) noexcept {
    try {
        call(*handler_, *this);
    } catch (...) {
        inboundThrew();
    }
}

[[gnu::cold, gnu::noinline]] void ChannelHandlerContext::inboundThrew() noexcept {
    Delivery::handlerThrew(*this);
    invokeExceptionCaught(std::current_exception());
}

// E-2: what a handler throws from an outbound operation fails the promise.
template <class Call>
void ChannelHandlerContext::invokeOutbound(const ChannelPromise& promise, Call call) noexcept {
    try {
        call(*handler_, *this);
    } catch (...) {
        Delivery::handlerThrew(*this);
        promise.tryFailure(std::current_exception());
    }
}

inline void ChannelHandlerContext::invokeWrite(Message&& message, ChannelPromise&& promise) noexcept {
    const Delivery delivery(*this, message, &promise);
    if (promise.isVoid()) [[likely]] {
        try {
            return handler_->write(*this, std::move(message), ChannelPromise());
        } catch (...) {
            Delivery::handlerThrew(*this);
            return;  // nobody wants to hear of it
        }
    }
    invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& self) {
        handler.write(self, std::move(message), promise);
    });
}

// E-3.
void ChannelHandlerContext::invokeFlush() noexcept {
    invokeInbound([](ChannelHandler& handler, ChannelHandlerContext& self) { handler.flush(self); });
}

// A handler that is not in `added`, or that does not override exceptionCaught(), passes the exception on.
void ChannelHandlerContext::invokeExceptionCaught(std::exception_ptr cause) noexcept {
    ChannelHandlerContext* context = this;
    while (!(context->mask_ & Event::exception)) context = context->next_;
    try {
        context->handler_->exceptionCaught(*context, cause);
    } catch (...) {
        log(LogLevel::warning, "exceptionCaught() of " + context->name() + " threw " +
                                   describe(std::current_exception()) + " while handling " + describe(cause));
    }
}

// W-8: true when the operation must be dropped silently, for its promise has been cancelled.
[[gnu::cold]] bool ChannelHandlerContext::promiseRefused(const ChannelPromise& promise) const {
    if (promise.isCloseFuture()) throw std::invalid_argument("the close future may not be used as a promise");
    if (!promise.belongsTo(channel_)) throw std::invalid_argument("the promise belongs to another channel");
    if (promise.cancelled()) return true;
    if (promise.done()) throw std::invalid_argument("the promise is complete already");
    return false;
}

inline bool ChannelHandlerContext::entered() const noexcept {
    return detail::currentChannel() == &channel_;
}

// Whoever calls from inside the channel's pipeline is in an entry already, and only looks that up. Anybody else comes
// here first, and then the same call is made again.
template <class F>
[[gnu::noinline]] void ChannelHandlerContext::enter(const ChannelPromise& promise, F call) {
    if (!channel_.mayRunHere()) return post(channel_, promise, std::move(call));
    PipelineEntry entry(channel_);
    call();
}

// ---- inbound ----

#define WEFT_FIRE(method, event, handlerMethod)                                                         \
    void ChannelHandlerContext::method() {                                                              \
        if (!entered()) [[unlikely]]                                                                    \
            return enter({}, [this] { method(); });                                                     \
        nextInbound(event).invokeInbound(                                                               \
            [](ChannelHandler& handler, ChannelHandlerContext& next) { handler.handlerMethod(next); }); \
    }

WEFT_FIRE(fireChannelRegistered, Event::registered, channelRegistered)
WEFT_FIRE(fireChannelUnregistered, Event::unregistered, channelUnregistered)
WEFT_FIRE(fireChannelActive, Event::active, channelActive)
WEFT_FIRE(fireChannelInactive, Event::inactive, channelInactive)
WEFT_FIRE(fireChannelReadComplete, Event::readComplete, channelReadComplete)
WEFT_FIRE(fireChannelWritabilityChanged, Event::writabilityChanged, channelWritabilityChanged)

#undef WEFT_FIRE

void ChannelHandlerContext::fireChannelRead(Message&& message) {
    Delivery::passedOn(message);
    if (!entered()) [[unlikely]]
        return enterRead(std::move(message));
    passRead(std::move(message));
}

[[gnu::noinline]] void ChannelHandlerContext::enterRead(Message&& message) {
    if (!channel_.mayRunHere()) {
        return post(channel_, {}, [this, held = std::move(message)]() mutable { fireChannelRead(std::move(held)); });
    }
    PipelineEntry entry(channel_);
    fireChannelRead(std::move(message));
}

void ChannelHandlerContext::fireUserEventTriggered(Message&& event) {
    if (!entered()) {
        return enter({}, [this, held = std::move(event)]() mutable { fireUserEventTriggered(std::move(held)); });
    }
    nextInbound(Event::userEvent).invokeInbound([&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.userEventTriggered(next, std::move(event));
    });
}

void ChannelHandlerContext::fireExceptionCaught(std::exception_ptr cause) {
    if (!entered()) return enter({}, [this, cause] { fireExceptionCaught(cause); });
    next_->invokeExceptionCaught(std::move(cause));
}

// ---- outbound ----

ChannelFuture ChannelHandlerContext::bind(const SocketAddress& local) {
    ChannelPromise promise = newPromise();
    bind(local, promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::connect(const SocketAddress& remote) {
    ChannelPromise promise = newPromise();
    connect(remote, nullptr, promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::disconnect() {
    ChannelPromise promise = newPromise();
    disconnect(promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::close() {
    ChannelPromise promise = newPromise();
    close(promise);
    return promise.future();
}
ChannelFuture ChannelHandlerContext::deregister() {
    ChannelPromise promise = newPromise();
    deregister(promise);
    return promise.future();
}

void ChannelHandlerContext::bind(const SocketAddress& local, ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enter(promise, [this, local, promise] { bind(local, promise); });
    nextOutbound(Event::bind).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.bind(next, local, promise);
    });
}

void ChannelHandlerContext::connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) {
        return enter(promise, [this, remote, hasLocal = local != nullptr, from = local ? *local : SocketAddress(),
                               promise] { connect(remote, hasLocal ? &from : nullptr, promise); });
    }
    nextOutbound(Event::connect).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.connect(next, remote, local, promise);
    });
}

// P-6: a stream has no disconnect of its own; the head makes it a close, after the handlers have seen it.
void ChannelHandlerContext::disconnect(ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enter(promise, [this, promise] { disconnect(promise); });
    nextOutbound(Event::disconnect).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.disconnect(next, promise);
    });
}

void ChannelHandlerContext::close(ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enter(promise, [this, promise] { close(promise); });
    nextOutbound(Event::close).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.close(next, promise);
    });
}

void ChannelHandlerContext::deregister(ChannelPromise promise) {
    if (refused(promise)) return;
    if (!entered()) return enter(promise, [this, promise] { deregister(promise); });
    nextOutbound(Event::deregister).invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.deregister(next, promise);
    });
}

void ChannelHandlerContext::read() {
    if (!entered()) [[unlikely]]
        return enter({}, [this] { read(); });
    nextOutbound(Event::readRequest).invokeInbound([](ChannelHandler& handler, ChannelHandlerContext& next) {
        handler.read(next);
    });
}

void ChannelHandlerContext::write(Message&& message, ChannelPromise promise) {
    Delivery::passedOn(message);
    if (refused(promise)) return;
    if (!entered()) [[unlikely]]
        return enterWrite(std::move(message), std::move(promise), false);
    nextOutbound(Event::write).invokeWrite(std::move(message), std::move(promise));
}

void ChannelHandlerContext::flush() {
    if (!entered()) [[unlikely]]
        return enter({}, [this] { flush(); });
    nextOutbound(Event::flush).invokeFlush();
}

inline ChannelHandlerContext& ChannelHandlerContext::nextWriter() const noexcept {
    return nextOutbound(Event::write | Event::flush);
}

// P-5: one search; the flush happens on that same context, also when the write failed.
void ChannelHandlerContext::writeAndFlush(Message&& message, ChannelPromise promise) {
    Delivery::passedOn(message);
    if (!promise.isVoid() || !entered()) [[unlikely]]
        return writeAndFlushElse(std::move(message), std::move(promise));
    ChannelHandlerContext& next = nextWriter();
    if (channel_.pipeline_.isHead(next)) return writeAndFlushElse(std::move(message), std::move(promise));
    next.invokeWrite(std::move(message), ChannelPromise());
    next.flushBehindWrite();
}

// With a promise, from outside, or straight to the head.
[[gnu::noinline]] void ChannelHandlerContext::writeAndFlushElse(Message&& message, ChannelPromise&& promise) {
    if (refused(promise)) return;
    if (!entered()) return enterWrite(std::move(message), std::move(promise), true);
    ChannelHandlerContext& next = nextWriter();
    if (promise.isVoid() && channel_.pipeline_.isHead(next) && message.is<Buffer>()) {
        Buffer& bytes = message.get<Buffer>();
        const std::size_t taken = channel_.headWriteStraight(bytes.view());
        if (taken > 0 && taken == bytes.readableBytes()) return;
        bytes.consumed(taken);
    }
    next.invokeWrite(std::move(message), std::move(promise));
    next.flushBehindWrite();
}

// Unless the handler has removed itself while it wrote.
inline void ChannelHandlerContext::flushBehindWrite() noexcept {
    if (state_ == HandlerState::added) [[likely]] {
        invokeFlush();
    } else {
        flush();
    }
}

std::size_t ChannelHandlerContext::tryWriteStraight(std::string_view bytes) noexcept {
    return channel_.pipeline_.isHead(nextWriter()) ? channel_.headWriteStraight(bytes) : 0;
}

[[gnu::noinline]] void ChannelHandlerContext::enterWrite(Message&& message, ChannelPromise&& promise, bool flush) {
    if (!channel_.mayRunHere()) return postWrite(std::move(message), std::move(promise), flush);
    PipelineEntry entry(channel_);
    if (flush) {
        writeAndFlush(std::move(message), std::move(promise));
    } else {
        write(std::move(message), std::move(promise));
    }
}

// TH-5: a write without a flush need not wake the loop.
void ChannelHandlerContext::postWrite(Message&& message, ChannelPromise promise, bool flush) {
    message.keep();
    auto posted = std::make_unique<detail::PostedWrite>(*this, std::move(message), std::move(promise), flush);
    try {
        EventLoop::Task task = [posted = std::move(posted)] { posted->run(); };
        if (flush) {
            channel_.loop().execute(std::move(task));
        } else {
            channel_.loop().executeLazily(std::move(task));
        }
    } catch (const SystemError&) {
        // Refused: the task has been destroyed, and with it the message; the promise has failed (TH-4).
    }
}

}  // namespace weft
