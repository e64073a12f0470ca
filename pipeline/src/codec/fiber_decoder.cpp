#include <weft/pipeline/codec/fiber_decoder.hpp>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/context_spawn.hpp>
#include <weft/pipeline/detail/codec_failures.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "pipeline_entry.hpp"

namespace weft {

namespace {

std::size_t checkedMaxRead(std::size_t maxRead) {
    if (maxRead >= 8) return maxRead;
    throw std::invalid_argument("FiberDecoder: maxRead is " + std::to_string(maxRead) + "; accepted: 8 or more");
}

}  // namespace

FiberDecoder::FiberDecoder(std::size_t maxRead) : reader_(*this, checkedMaxRead(maxRead)) {}

void FiberDecoder::handlerAdded(ChannelHandlerContext& ctx) {
    if (started_ || ctx_ != nullptr) {
        throw std::logic_error(
            "a FiberDecoder reads the bytes of one connection, and this one has been in a pipeline; create one for "
            "each channel");
    }
    if (ctx.loop().carrier() == nullptr)
        throw std::logic_error("a FiberDecoder needs a fiber, and an embedded loop has no carrier to run one");
    ctx_ = &ctx;
    hadHalfClosure_ = ctx.channel().option(ChannelOption::ALLOW_HALF_CLOSURE);
    ctx.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    if (ctx.channel().active()) start(ctx);
}

void FiberDecoder::channelActive(ChannelHandlerContext& ctx) {
    ctx.fireChannelActive();
    if (ctx_ != nullptr && !started_) start(ctx);
}

// Without a fiber, for example for lack of memory, nothing reads what arrives.
void FiberDecoder::start(ChannelHandlerContext& ctx) {
    started_ = failed_ = true;
    ctx.spawn([this, &ctx] { run(ctx); }, {.name = "decoder", .stealable = Stealable::never});
    failed_ = false;
}

void FiberDecoder::run(ChannelHandlerContext& ctx) {
    try {
        decode(reader_, ctx);
    } catch (...) {
        if (reader_.closed_ || thisFiber::cancelRequested() || ctx.loop().stopping()) throw;  // ctx.spawn() logs it
        return fail(ctx, detail::asDecoderException(ctx));
    }
    if (ctx_ != nullptr) ctx.pipeline().remove(*this);
}

// Goes to exceptionCaught() of this handler (E-1); an exception from that is only logged (E-4).
void FiberDecoder::fail(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept {
    const detail::PipelineEntry entry(ctx.channel());
    failed_ = true;
    reader_.bytes_ = Buffer();
    try {
        exceptionCaught(ctx, cause);
    } catch (...) {
        log(LogLevel::warning, "exceptionCaught() of " + ctx.name() + " threw " + describe(std::current_exception()) +
                                   " while handling " + describe(cause));
    }
    if (ctx_ == nullptr || reader_.closed_) return;
    completeCycle(ctx);
    if (ctx_ != nullptr && std::exchange(withheld_, false)) ctx.read();
    if (ctx_ != nullptr && inputShutdown_) endInput(ctx);
}

// D-3: the bytes that are left are passed on, and what waited for the fiber takes effect.
void FiberDecoder::handlerRemoved(ChannelHandlerContext& ctx) {
    if (ctx_ != &ctx) return;
    ctx_ = nullptr;
    if (ctx.channel().closed()) return dropUnread(ctx);
    reader_.close();
    Buffer left = std::exchange(reader_.bytes_, Buffer());
    if (!left.empty()) {
        ctx.fireChannelRead(Message(std::move(left)));
        cycleEnded_ = true;
    }
    completeCycle(ctx);
    endInput(ctx);
    if (withheld_) ctx.read();
}

// The input has ended for the handlers that follow, too, if it has ended.
void FiberDecoder::endInput(ChannelHandlerContext& ctx) {
    ctx.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, hadHalfClosure_);
    if (!std::exchange(inputShutdown_, false)) return;
    if (hadHalfClosure_) {
        ctx.fireUserEventTriggered(Message(InputShutdownEvent{}));
    } else {
        ctx.close();
    }
}

void FiberDecoder::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Buffer>()) return ctx.fireChannelRead(std::move(message));
    if (failed_) return message.reset();
    try {
        reader_.add(message.take<Buffer>());
    } catch (const std::bad_alloc&) {  // what follows would have a gap before it
        failed_ = true;
        reader_.close();
        throw;
    }
}

// The messages of this cycle come first: a fiber that has enough bytes has yet to make them.
void FiberDecoder::channelReadComplete(ChannelHandlerContext& ctx) {
    cycleEnded_ = true;
    const bool starved = reader_.needed_ > reader_.available() && !reader_.ended_;
    if (starved) detail::compact(reader_.bytes_);  // a few bytes must not keep a large block while the peer is silent
    if (starved || failed_) completeCycle(ctx);
    if (starved && ctx_ != nullptr && !ctx.channel().config().autoRead) ctx.read();
}

void FiberDecoder::completeCycle(ChannelHandlerContext& ctx) {
    if (std::exchange(cycleEnded_, false)) ctx.fireChannelReadComplete();
}

void FiberDecoder::channelInactive(ChannelHandlerContext& ctx) {
    dropUnread(ctx);
    completeCycle(ctx);
    ctx.fireChannelInactive();
}

// Nothing that arrived before the close is passed on after it.
void FiberDecoder::dropUnread(ChannelHandlerContext& ctx) {
    if (reader_.available() > 0) {
        log(LogLevel::debug, ctx.name() + " dropped " + std::to_string(reader_.available()) +
                                 " bytes that had not been read when the channel was closed");
    }
    reader_.bytes_ = Buffer();
    reader_.close();
}

void FiberDecoder::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (event.is<InputShutdownEvent>()) {
        inputShutdown_ = true;
        reader_.end();
        if (failed_) endInput(ctx);
    } else if (!inputShutdown_ || !event.is<InputShutdownReadCompleteEvent>()) {
        ctx.fireUserEventTriggered(std::move(event));
    }
}

void FiberDecoder::read(ChannelHandlerContext& ctx) {
    withheld_ = !failed_ && reader_.available() >= std::max(highMark, reader_.needed_);
    if (!withheld_) ctx.read();
}

void FiberDecoder::beforeWait() {
    if (ctx_ == nullptr) return;
    completeCycle(*ctx_);
    if (ctx_ == nullptr || reader_.closed_ || reader_.ended_) return;
    if (std::exchange(withheld_, false) || !ctx_->channel().config().autoRead) ctx_->read();
}

void FiberDecoder::bytesRemoved() {
    if (ctx_ != nullptr && reader_.available() < lowMark && std::exchange(withheld_, false)) ctx_->read();
}

}  // namespace weft
