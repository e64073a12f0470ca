#include <weft/pipeline/channel_handler_context.hpp>

#include <array>
#include <charconv>
#include <memory>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/pipeline/detail/lost_writes.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>
#include <weft/scheduler/log.hpp>

#include "context_calls.hpp"
#include "delivery.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::Delivery;
using detail::Event;
using detail::PipelineEntry;

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
    return isNamed() ? name_->given : automaticName(ordinal());
}

bool ChannelHandlerContext::isCalled(std::string_view name) const noexcept {
    if (isNamed()) return name == name_->given;
    const std::size_t mark = type_.name.size();
    if (!name.starts_with(type_.name) || name.size() <= mark || name[mark] != '#') return false;
    std::array<char, 10> digits;  // of the largest ordinal
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), ordinal()).ptr;
    return name.substr(mark + 1) == std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

std::string ChannelHandlerContext::automaticName(unsigned ordinal) const {
    return std::string(type_.name) + "#" + std::to_string(ordinal);
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
    if (hasTimers_) [[unlikely]]
        cancelTimers();
}

void ChannelHandlerContext::watchReadCycles(bool on) noexcept {
    if (on == watchesReads_ || !(fullMask_ & Event::readCycle)) return;
    watchesReads_ = on;
    countReadWatcher(on);
}

void ChannelHandlerContext::countReadWatcher(bool on) noexcept {
    if (state_ != HandlerState::added) return;
    unsigned& watchers = channel_.pipeline().readWatchers_;
    on ? ++watchers : --watchers;
}

// An exception from an inbound callback goes to the same handler's exceptionCaught() (E-1).
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

inline void ChannelHandlerContext::invokeWrite(Message&& message, ChannelPromise&& promise) noexcept {
    const Delivery delivery(*this, message, &promise);
    if (promise.isVoid()) [[likely]] {
        try {
            return handler_->write(*this, std::move(message), ChannelPromise());
        } catch (...) {
            return writeThrew();
        }
    }
    invokeOutbound(promise, [&](ChannelHandler& handler, ChannelHandlerContext& self) {
        handler.write(self, std::move(message), promise);
    });
}

[[gnu::cold, gnu::noinline]] void ChannelHandlerContext::writeThrew() noexcept {
    Delivery::handlerThrew(*this);
    channel_.pipeline().onWriteThrew(*this, std::current_exception());
}

// An exception from flush() goes to the same handler's exceptionCaught() (E-3).
void ChannelHandlerContext::invokeFlush() noexcept {
    invokeInbound([](ChannelHandler& handler, ChannelHandlerContext& self) { handler.flush(self); });
}

// Skips handlers that are not in state `added` or do not override exceptionCaught().
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
    if (!detail::entersLoop(channel_.loop())) {
        return detail::post(channel_, {},
                            [this, held = std::move(message)]() mutable { fireChannelRead(std::move(held)); });
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

// ---- outbound; bind, connect and close are in context_operations.cpp ----

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

// Searches once for the next handler of writes or flushes, and flushes the same one, also when its write failed (P-5).
void ChannelHandlerContext::writeAndFlush(Message&& message, ChannelPromise promise) {
    Delivery::passedOn(message);
    if (!promise.isVoid() || !entered()) [[unlikely]]
        return writeAndFlushSlow(std::move(message), std::move(promise));
    ChannelHandlerContext& next = nextWriter();
    next.invokeWrite(std::move(message), ChannelPromise());
    next.flushAfterWrite();
}

// With a promise, or from outside an entry.
[[gnu::noinline]] void ChannelHandlerContext::writeAndFlushSlow(Message&& message, ChannelPromise&& promise) {
    if (refused(promise)) return;
    if (!entered()) return enterWrite(std::move(message), std::move(promise), true);
    ChannelHandlerContext& next = nextWriter();
    next.invokeWrite(std::move(message), std::move(promise));
    next.flushAfterWrite();
}

// Flushes the same handler, unless it removed itself during the write; then the next one.
inline void ChannelHandlerContext::flushAfterWrite() noexcept {
    if (state_ == HandlerState::added) [[likely]] {
        invokeFlush();
    } else {
        flush();
    }
}

ChannelFuture ChannelHandlerContext::writeAndClose(Message&& message) {
    writeAndFlush(std::move(message), newPromise().addListener(closeChannel));
    return channel_.closeFuture();
}

// ---- for encoders ----

bool ChannelHandlerContext::writesDirectly() const noexcept {
    return channel_.takesOutput() && channel_.pipeline().isHead(nextOutbound(Event::write));
}

ChannelOutput& ChannelHandlerContext::output() {
    return writesDirectly() ? channel_.output_ : channel_.pipeline().passedOutput();
}

void ChannelHandlerContext::finishOutput(ChannelPromise&& promise) {
    if (!writesDirectly()) [[unlikely]]
        return passOutput(std::move(promise));
    if (!promise.isVoid()) channel_.output_.mark(std::move(promise));
    channel_.updateWritability();
}

// Takes the pieces first, because a handler that gets one may use the same output.
[[gnu::noinline]] void ChannelHandlerContext::passOutput(ChannelPromise&& promise) {
    detail::Ring<Buffer> pieces = channel_.pipeline().passedOutput().takePieces();
    while (pieces.size() > 1) write(Message(pieces.pop()));
    if (!pieces.empty() || !promise.isVoid())
        write(Message(pieces.empty() ? Buffer() : pieces.pop()), std::move(promise));
}

[[gnu::noinline]] void ChannelHandlerContext::enterWrite(Message&& message, ChannelPromise&& promise, bool flush) {
    if (!detail::entersLoop(channel_.loop())) return postWrite(std::move(message), std::move(promise), flush);
    PipelineEntry entry(channel_);
    if (flush) {
        writeAndFlush(std::move(message), std::move(promise));
    } else {
        write(std::move(message), std::move(promise));
    }
}

// ---- writes from other threads ----

// A write that is posted to the loop. Its bytes count as pending from its submission on (TH-4).
class detail::PostedWrite final : public InThreadCache {
  public:
    static constexpr std::size_t taskOverhead = 32;  // bytes that a task counts besides its message (TH-4)

    PostedWrite(ChannelHandlerContext& context, Message&& message, ChannelPromise promise, bool flush)
        : pin_(context.channel()),
          context_(context),
          message_(std::move(message)),
          promise_(std::move(promise)),
          bytes_(message_.estimatedBytes() + taskOverhead),
          flush_(flush) {
        pin_.channel().addSubmitted(bytes_);
    }
    // If the loop ended before run(), fails the promise. The message is released with this object.
    ~PostedWrite() {
        if (ran_) return;
        pin_.channel().writability_.subtractSubmitted(bytes_);
        if (promise_.isVoid()) logUndeliveredWrite(pin_.channel(), message_);
        promise_.tryFailure(operationAborted());
    }
    void run() {
        ran_ = true;
        pin_.channel().writability_.subtractSubmitted(bytes_);
        try {
            if (flush_) {
                context_.writeAndFlush(std::move(message_), promise_);
            } else {
                context_.write(std::move(message_), promise_);
            }
        } catch (...) {
            promise_.tryFailure(std::current_exception());
        }
        pin_.channel().updateWritability();  // needed when a handler kept the message: then nothing else calls it
    }

  private:
    ChannelPin pin_;
    ChannelHandlerContext& context_;
    Message message_;
    ChannelPromise promise_;
    std::size_t bytes_;
    bool flush_;
    bool ran_ = false;
};

// A write without a flush does not wake the loop (TH-5).
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
        // Refused: the task and its message have been destroyed, and the promise has failed (TH-4).
    }
}

}  // namespace weft
