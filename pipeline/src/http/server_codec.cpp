// The connection's side of the codec: its events, its end.
#include <weft/pipeline/http/server_codec.hpp>

#include <stdexcept>
#include <string>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http {

namespace {

constexpr Duration lingerTime = std::chrono::seconds(2);

const ServerCodecOptions& validated(const ServerCodecOptions& options) {
    if (options.maxInFlight < 1 || options.maxInFlight > 1024) {
        throw std::invalid_argument("ServerCodec: maxInFlight is " + std::to_string(options.maxInFlight) +
                                    "; accepted: 1 to 1024");
    }
    return options;
}

}  // namespace

ServerCodec::ServerCodec(ServerCodecOptions options)
    : options_(validated(options)), parser_(options.limits), body_(options.limits) {}

void ServerCodec::handlerAdded(ChannelHandlerContext& ctx) {
    ctx_ = &ctx;
    heads_ = &ctx.loop().local<HeadCache>();
    // A client may end its output and still wait for its answers.
    ctx.channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, true);
}

void ServerCodec::handlerRemoved(ChannelHandlerContext& ctx) {
    ctx.loop().withdrawFlushPoint(*this);
    ctx_ = nullptr;
}

void ServerCodec::channelReadComplete(ChannelHandlerContext& ctx) {
    ctx.fireChannelReadComplete();
}

void ServerCodec::channelInactive(ChannelHandlerContext& ctx) {
    linger_.cancel();
    expects_ = Input::ended;
    closing_ = true;
    input_ = Buffer();
    output_ = Buffer();
    dropSlots();
    ctx.fireChannelInactive();
}

void ServerCodec::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    const bool inputEnded = event.is<InputShutdownEvent>();
    const bool outputEnded = event.is<OutputShutdownEvent>();
    const bool drain = event.is<DrainStarted>();
    ctx.fireUserEventTriggered(std::move(event));
    if (ctx_ == nullptr) return;
    if (inputEnded) onInputEnded();
    if (outputEnded) onOutputEnded();
    if (drain) closeWhenAnswered();
}

void ServerCodec::onInputEnded() {
    inputShutdown_ = true;
    if (outputShutdown_ || expects_ == Input::body) return closeNow();  // all is said; or a request is cut short
    expects_ = Input::ended;
    closeWhenAnswered();
}

// The last response is out. The peer's end, or the end of our patience, closes the connection.
void ServerCodec::onOutputEnded() {
    outputShutdown_ = true;
    if (inputShutdown_) return closeNow();
    linger_ = ctx_->loop().schedule([channel = ChannelRef(ctx_->channel())] { channel->close(); }, lingerTime);
}

void ServerCodec::exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) {
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
    if (paused_) {
        readWanted_ = true;
    } else {
        ctx.read();
    }
}

void ServerCodec::close(ChannelHandlerContext& ctx, ChannelPromise promise) {
    if (flushWanted_) onFlushPoint();
    ctx.close(std::move(promise));
}

// No further request is read; the last answer says `Connection: close`.
void ServerCodec::closeWhenAnswered() {
    draining_ = true;
    if (expects_ == Input::head) expects_ = Input::ended;
    if (slots_.empty() && !closing_) closeNow();
}

void ServerCodec::closeNow() {
    closing_ = true;
    expects_ = Input::ended;
    if (ctx_ != nullptr) ctx_->close();
}

// The last response is encoded. Its bytes go out, then our side ends, then the peer's rest is read and thrown away: a
// close with unread input would reset the connection, and the peer might lose the answer.
void ServerCodec::closeAfterResponse() {
    closing_ = true;
    expects_ = Input::ended;
    input_ = Buffer();
    dropSlots();
    ChannelPromise written = ctx_->newPromise();
    written.addListener(
        [channel = ChannelRef(ctx_->channel()), inputShutdown = inputShutdown_](const ChannelFuture& done) {
            if (done.success() && !inputShutdown) {
                channel->shutdownOutput();
            } else {
                channel->close();
            }
        });
    passOut(std::move(written));
    flush(*ctx_);
    if (paused_) resumeReading();
}

void ServerCodec::dropSlots() {
    const auto closed = [] {
        return std::make_exception_ptr(std::runtime_error("the connection was closed before this answer's turn"));
    };
    while (!slots_.empty()) {
        ResponseSlot slot = std::move(slots_.front());
        slots_.popFront();
        for (auto& early : slot.early) {
            if (!early.promise.isVoid()) early.promise.tryFailure(closed());
        }
    }
}

}  // namespace weft::http
