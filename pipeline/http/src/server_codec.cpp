// The events of the channel, each passed to the half that it concerns.
#include <weft/http/server_codec.hpp>

#include <stdexcept>
#include <utility>

#include <weft/http/detail/drain_barrier.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "common_response.hpp"

namespace weft::http {

namespace {

std::uint32_t checkedMaxInFlight(const ServerCodecOptions& options) {
    if (options.maxInFlight < 1 || options.maxInFlight > 1024) {
        throw std::invalid_argument("ServerCodec: maxInFlight is " + std::to_string(options.maxInFlight) +
                                    "; accepted: 1 to 1024");
    }
    return static_cast<std::uint32_t>(options.maxInFlight);
}

std::shared_ptr<const ServerCodecOptions> defaults() {
    static const auto options = std::make_shared<const ServerCodecOptions>();
    return options;
}

}  // namespace

ServerCodec::ServerCodec() : ServerCodec(defaults()) {}

ServerCodec::ServerCodec(ServerCodecOptions options)
    : ServerCodec(std::make_shared<const ServerCodecOptions>(std::move(options))) {}

ServerCodec::ServerCodec(std::shared_ptr<const ServerCodecOptions> options)
    : connection_(*this),
      writer_(connection_),
      options_(std::move(options)),
      reader_(connection_, writer_, timeouts_, options_->limits, checkedMaxInFlight(*options_)),
      timeouts_(options_->timeouts) {}

void ServerCodec::handlerAdded(ChannelHandlerContext& ctx) {
    connection_.ctx = &ctx;
    connection_.loop = &ctx.loop();
    connection_.slowPath.busy = false;
    connection_.slowPath.blocked = !ctx.channel().isWritable();
    writer_.begin(ctx, options_->serverName);
    reader_.begin(ctx);
    // A client may end its output and still wait for its responses.
    connection_.hadHalfClosure = ctx.channel().option(ChannelOption::ALLOW_HALF_CLOSURE);
    ctx.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    timeouts_.begin(ctx.channel());
    connection_.slots.join(ctx.channel());
}

// D-3, H-7: undecoded bytes are passed on, and those of the next protocol reach its handler.
void ServerCodec::handlerRemoved(ChannelHandlerContext& ctx) {
    timeouts_.end();
    connection_.slots.leave(ctx.channel());
    if (!connection_.slowPath.closing) {
        writer_.dropAll("the HTTP codec was removed before a queued response was sent");
        restoreHalfClosure();
        passInputOn();
        if (reader_.takeWithheldRead()) ctx.read();
    }
    connection_.ctx = nullptr;
    connection_.loop = nullptr;
    connection_.slowPath.busy = true;
}

// ---- reading ----

void ServerCodec::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    if (!message.is<Buffer>() || reader_.expects() >= Input::switched) [[unlikely]] {
        // Input after our end is discarded, so that a reset does not destroy our responses.
        const bool late = message.is<Buffer>() && reader_.expects() == Input::ended;
        return late ? message.reset() : ctx.fireChannelRead(std::move(message));
    }
    reader_.add(message);
    if (!connection_.slowPath.paused) reader_.decode();
}

void ServerCodec::channelReadComplete(ChannelHandlerContext& ctx) {
    const bool silent = reader_.endCycle();
    ctx.watchReadCycles(true);  // until the next read() has passed
    if (timeouts_.waiting()) [[unlikely]]
        timeouts_.pause();
    ctx.fireChannelReadComplete();
    if (silent) [[unlikely]]
        readOnIfManual();
}

// While decoding is paused, the read() is withheld.
void ServerCodec::read(ChannelHandlerContext& ctx) {
    if (connection_.slowPath.paused) {
        reader_.withholdRead();
    } else {
        readOn(ctx);
    }
}

void ServerCodec::readOn(ChannelHandlerContext& ctx) {
    reader_.beginCycle();
    ctx.watchReadCycles(timeouts_.waiting());  // the timeouts are paused while nothing reads
    if (timeouts_.waiting()) [[unlikely]]
        timeouts_.resume();
    ctx.read();
}

// with AUTO_READ off, handlers call read() for each read cycle. The handlers after this codec do not know that the
// last cycle brought no message, so the codec reads again.
void ServerCodec::readOnIfManual() {
    if (connection_.ctx == nullptr || connection_.slowPath.paused || reader_.expects() == Input::switched ||
        connection_.inputShutdown)
        return;
    if (!connection_.ctx->channel().config().autoRead) readOn(*connection_.ctx);
}

// A response has made room below maxInFlight, or the peer has accepted enough output.
void ServerCodec::resumeReading() {
    if (!reader_.resume()) return;
    if (connection_.inputShutdown && reader_.expects() != Input::ended) return endOfRequests();
    if (reader_.takeWithheldRead()) readOn(*connection_.ctx);
}

// ---- writing ----

void ServerCodec::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    if (message.is<Response>() && promise.isVoid() && writer_.tryAnswerCommon(message.get<Response>())) [[likely]]
        return;
    writeSlow(ctx, std::move(message), std::move(promise));
}

[[gnu::noinline]] void ServerCodec::writeSlow(ChannelHandlerContext& ctx, Message&& message, ChannelPromise&& promise) {
    if (message.is<Response>() || message.is<Content>() || message.is<LastContent>()) {
        return writer_.accept(std::move(message), std::move(promise));
    }
    if (message.is<Buffer>() && reader_.expects() != Input::switched)
        return writer_.acceptBytes(ctx, std::move(message), std::move(promise));
    ctx.write(std::move(message), std::move(promise));
}

void ServerCodec::flush(ChannelHandlerContext& ctx) {
    if (!writer_.tryFlushCommon(ctx)) [[unlikely]]
        writer_.flush(ctx);
}

// ---- other events ----

void ServerCodec::channelInactive(ChannelHandlerContext& ctx) {
    timeouts_.end();
    if (linger_) linger_->cancel();
    reader_.end();
    connection_.slowPath.closing = true;
    writer_.dropAll("the connection was closed before a queued response was sent");
    ctx.fireChannelInactive();
}

void ServerCodec::channelWritabilityChanged(ChannelHandlerContext& ctx) {
    connection_.slowPath.blocked = !ctx.channel().isWritable();
    ctx.fireChannelWritabilityChanged();
    resumeReading();
}

void ServerCodec::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (event.is<detail::TimeoutCheck>()) return checkTimeouts();
    if (event.is<detail::SwitchDue>()) return switchProtocol();
    if (event.is<detail::DrainBarrierPassed>()) {
        if (reader_.expects() != Input::switched) closeWhenAnswered();
        return;
    }
    const bool inputEnded = event.is<InputShutdownEvent>();
    const bool outputEnded = event.is<OutputShutdownEvent>();
    const bool drain = event.is<DrainStarted>();
    ctx.fireUserEventTriggered(std::move(event));
    if (connection_.ctx == nullptr || reader_.expects() == Input::switched) return;
    if (inputEnded) onInputEnded();
    if (outputEnded) onOutputEnded();
    if (drain) beginDrain();
}

void ServerCodec::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
    if (reader_.expects() == Input::switched) return ctx.fireExceptionCaught(std::move(cause));
    try {
        std::rethrow_exception(cause);
    } catch (const SystemError& error) {
        log(LogLevel::debug, std::string("an HTTP connection ended: ") + error.what());
    } catch (...) {
        ctx.fireExceptionCaught(std::move(cause));
    }
}

// A handler that threw has usually destroyed its request, and closes in exceptionCaught(): the 500 is sent before the
// close.
void ServerCodec::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    if (connection_.delivering != noTicket) reader_.afterDelivery(connection_.delivering);
    ctx.close(std::move(promise));
}

// ---- what the reader and the writer need ----

void ServerCodec::responseAdvanced() {
    const bool undecided = reader_.expects() == Input::undecided;
    if (undecided && connection_.slots.empty() && connection_.ctx != nullptr) [[unlikely]]
        decideProtocol();
    resumeReading();
}

}  // namespace weft::http
