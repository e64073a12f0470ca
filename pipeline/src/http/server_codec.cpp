// The connection's side of the codec: its events, its end.
#include <weft/pipeline/http/server_codec.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/http/header_sections.hpp>
#include <weft/pipeline/http/last_look.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

#include "http/codec_log.hpp"

namespace weft::http {

namespace {

constexpr Duration lingerTime = std::chrono::seconds(2);

std::uint32_t checkedMaxInFlight(const ServerCodecOptions& options) {
    if (options.maxInFlight < 1 || options.maxInFlight > 1024) {
        throw std::invalid_argument("ServerCodec: maxInFlight is " + std::to_string(options.maxInFlight) +
                                    "; accepted: 1 to 1024");
    }
    return static_cast<std::uint32_t>(options.maxInFlight);
}

}  // namespace

ServerCodec::ServerCodec(ServerCodecOptions options)
    : maxInFlight_(checkedMaxInFlight(options)),
      parser_(options.limits),
      patience_(options.timeouts),
      body_(options.limits),
      options_(std::move(options)) {}

void ServerCodec::handlerAdded(ChannelHandlerContext& ctx) {
    ctx_ = &ctx;
    loop_ = &ctx.loop();
    special_.busy = false;
    heads_ = &ctx.loop().local<HeadCache>();
    serverName_ = heads_->serverName(options_.serverName);
    parser_.share(ctx.loop().local<HeaderSections>());
    const ChannelSink* const sink = ctx.channel().sink();
    if (sink != nullptr && sink->writesStraight()) output_.share(ctx.loop().local<TurnBlock>());
    special_.blocked = !ctx.channel().isWritable();
    reading_ = ctx.channel().config().autoRead;
    // A client may end its output and still wait for its answers.
    hadHalfClosure_ = ctx.channel().option(ChannelOption::ALLOW_HALF_CLOSURE);
    ctx.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
    patience_.begin(ctx.channel());
}

// D-3, H-7: the bytes of the next protocol are the next handler's.
void ServerCodec::handlerRemoved(ChannelHandlerContext& ctx) {
    patience_.end();
    ctx.loop().withdrawFlushPoint(*this);
    passOut({});
    output_.share(TurnBlock::none());  // what is still said comes too late, and to nobody
    if (flushWanted_) ctx.flush();
    if (!special_.closing) {
        dropSlots("the HTTP codec was removed before an answer's turn");
        restoreHalfClosure();
        passInputOn();
        if (readWanted_) ctx.read();
    }
    ctx_ = nullptr;
    loop_ = nullptr;
    special_.busy = true;
}

void ServerCodec::channelReadComplete(ChannelHandlerContext& ctx) {
    reading_ = false;
    ctx.watchReadCycles(true);  // until the next read() has come by
    if (patience_.waiting()) [[unlikely]]
        patience_.holdBreath();
    const bool silent = !std::exchange(fired_, false);
    ctx.fireChannelReadComplete();
    if (silent) [[unlikely]]
        readOnIfManual();
}

// without AUTO_READ somebody asks for each read, and nobody behind this codec knows that nothing has come of the
// last one.
void ServerCodec::readOnIfManual() {
    if (ctx_ == nullptr || special_.paused || expects_ == Input::switched || inputShutdown_) return;
    if (!ctx_->channel().config().autoRead) readOn(*ctx_);
}

void ServerCodec::channelInactive(ChannelHandlerContext& ctx) {
    patience_.end();
    linger_.cancel();
    expects_ = Input::ended;
    special_.closing = true;
    input_ = Buffer();
    next_.reset();
    output_.clear();
    dropSlots("the connection was closed before an answer's turn");
    ctx.fireChannelInactive();
}

void ServerCodec::channelWritabilityChanged(ChannelHandlerContext& ctx) {
    special_.blocked = !ctx.channel().isWritable();
    ctx.fireChannelWritabilityChanged();
    resumeReading();
}

void ServerCodec::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (event.is<detail::PatienceLook>()) return lookAtClock();
    if (event.is<detail::SwitchDue>()) return switchProtocol();
    if (event.is<detail::LastLookOver>()) {
        if (expects_ != Input::switched) closeWhenAnswered();
        return;
    }
    const bool inputEnded = event.is<InputShutdownEvent>();
    const bool outputEnded = event.is<OutputShutdownEvent>();
    const bool drain = event.is<DrainStarted>();
    ctx.fireUserEventTriggered(std::move(event));
    if (ctx_ == nullptr || expects_ == Input::switched) return;
    if (inputEnded) onInputEnded();
    if (outputEnded) onOutputEnded();
    if (drain) beginDrain();
}

// What has come and waits for room is still decoded, and only then there is no more.
void ServerCodec::onInputEnded() {
    inputShutdown_ = true;
    if (outputShutdown_) return closeNow();
    if (expects_ == Input::undecided) pause();
    if (!special_.paused || clientHasGone()) endOfRequests();
}

void ServerCodec::endOfRequests() {
    if (expects_ == Input::body) cutBody({Status::badRequest, "the connection ended inside the body"});
    if (ctx_ == nullptr) return;
    if (!clientHasGone()) return closeWhenAnswered();
    special_.draining = true;
    outputPending() ? closeAfterResponse() : closeNow();
}

// Answers are owed to a client that has ended its output, and that end counts as its own. An end after a request for
// another protocol belongs to that protocol.
bool ServerCodec::clientHasGone() const noexcept {
    return options_.inputEnd == InputEnd::cancel && inputShutdown_ && !slots_.empty() && !special_.closing &&
           expects_ != Input::undecided;
}

// The last response is out. The peer's end, or the end of our patience, closes the connection.
void ServerCodec::onOutputEnded() {
    outputShutdown_ = true;
    if (inputShutdown_) return closeNow();
    linger_ = ctx_->loop().schedule([channel = ChannelRef(ctx_->channel())] { channel->close(); }, lingerTime);
}

void ServerCodec::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
    if (expects_ == Input::switched) return ctx.fireExceptionCaught(std::move(cause));
    try {
        std::rethrow_exception(cause);
    } catch (const SystemError& error) {
        log(LogLevel::debug, std::string("an HTTP connection ended: ") + error.what());
    } catch (...) {
        ctx.fireExceptionCaught(std::move(cause));
    }
}

// At the limit of unanswered requests the wish to read waits for an answer.
void ServerCodec::read(ChannelHandlerContext& ctx) {
    if (special_.paused) {
        readWanted_ = true;
    } else {
        readOn(ctx);
    }
}

void ServerCodec::readOn(ChannelHandlerContext& ctx) {
    reading_ = true;
    fired_ = false;
    ctx.watchReadCycles(patience_.waiting());  // the clock stands still while nobody reads
    if (patience_.waiting()) [[unlikely]]
        patience_.breathe();
    ctx.read();
}

// A handler that threw has lost its request, and mostly closes in exceptionCaught(): the 500 goes before.
void ServerCodec::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    if (delivering_ != noTicket) afterDelivery(delivering_);
    if (flushWanted_) onFlushPoint();
    ctx.close(std::move(promise));
}

// An idle connection may have a request in the kernel: its client cannot know yet that it came too late.
void ServerCodec::beginDrain() {
    if (special_.draining) return;
    special_.draining = true;
    if (expects_ != Input::head || !slots_.empty()) return closeWhenAnswered();
    looking_ = true;
    ctx_->loop().local<detail::LastLook>().join(ctx_->channel());
    resumeReading();
}

// No further request is read; the last answer says `Connection: close`.
void ServerCodec::closeWhenAnswered() {
    special_.draining = true;
    looking_ = false;
    expects_ = expects_ == Input::body ? Input::body : Input::ended;
    if (!slots_.empty() || special_.closing) return;
    // Also when there was none: a request that crosses our end must find a reader, or the close resets the connection.
    outputPending() || !inputShutdown_ ? closeAfterResponse() : closeNow();
}

bool ServerCodec::outputPending() const noexcept {
    return ctx_ != nullptr && (!output_.empty() || ctx_->channel().pendingBytes() > 0);
}

// Nothing more will be said. The close begins in front of this handler, so it does not pass by our own close().
void ServerCodec::closeNow() {
    special_.closing = true;
    expects_ = Input::ended;
    if (flushWanted_) onFlushPoint();
    if (ctx_ != nullptr) ctx_->close();
}

// The last response is encoded. When its bytes are in the kernel our side ends, then the peer's rest is read and thrown
// away: a close with unread input would reset the connection, and the peer might lose the answer.
void ServerCodec::closeAfterResponse() {
    special_.closing = true;
    expects_ = Input::ended;
    input_ = Buffer();
    // Called in the middle of a body that the close ends, it cuts that body: the close stays a reset.
    const bool cut = !slots_.empty() && slots_.front().framing == BodyFraming::untilClose && !slots_.front().complete;
    const std::optional<int> linger = cut ? std::nullopt : std::exchange(lingerAfterBody_, std::nullopt);
    ChannelPromise written = ctx_->newPromise();
    written.addListener(
        [channel = ChannelRef(ctx_->channel()), inputShutdown = inputShutdown_, linger](const ChannelFuture& done) {
            if (done.success() && linger) channel->setOption(ChannelOption::LINGER, *linger);
            if (done.success() && !inputShutdown) {
                channel->shutdownOutput();
            } else {
                channel->close();
            }
        });
    passOut(std::move(written));
    if (ctx_ != nullptr) flush(*ctx_);
    dropSlots("the connection was closed before an answer's turn");  // a listener may remove this codec
    if (special_.paused) resumeReading();
}

void ServerCodec::dropSlots(const char* why) {
    countEarly(earlyBytes_, 0);
    if (special_.closing) loseFrom(slots_.frontTicket());
    while (!slots_.empty()) {
        ResponseSlot slot = std::move(slots_.front());
        slots_.popFront();
        if (!slot.early) continue;
        for (auto& early : *slot.early) {
            if (early.promise.isVoid()) {
                detail::logUnsent(LogLevel::debug, ctx_, why);
            } else {
                early.promise.tryFailure(std::make_exception_ptr(std::runtime_error(why)));
            }
        }
    }
}

// ---- patience ----

void ServerCodec::lookAtClock() {
    if (ctx_ == nullptr) return;
    const auto impatience = patience_.look({.requests = slots_.added(),
                                            .pending = ctx_->channel().pendingBytes() > 0,
                                            .written = ctx_->channel().writtenBytes(),
                                            .unanswered = !slots_.empty(),
                                            .reading = reading_ && !special_.paused});
    if (impatience) giveUp(*impatience);
}

void ServerCodec::giveUp(detail::Impatience why) {
    switch (why) {
        case detail::Impatience::idle:
            return closeNow();
        case detail::Impatience::stalled:
            log(LogLevel::debug, "an HTTP connection was closed: its client takes no answers");
            ctx_->close();
            return;
        case detail::Impatience::body:
            patience_.satisfied();
            return cutBody({Status::requestTimeout, "the request body came too slowly"});
        case detail::Impatience::head:
            patience_.satisfied();
            slots_.add().keepAlive = false;
            refuse(slots_.backTicket(), {Status::requestTimeout, "the request head came too slowly"});
    }
}

}  // namespace weft::http
