// The end of the connection: the client's end of input, a drain, the last response, timeouts.
#include <weft/http/server_codec.hpp>

#include <optional>
#include <utility>

#include <weft/http/detail/drain_barrier.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::http {

// Input that waits for room is decoded before the end of input takes effect, unless clientIsGone(): then it is dropped.
void ServerCodec::onInputEnded() {
    connection_.inputShutdown = true;
    if (connection_.outputShutdown) return closeNow();
    if (reader_.expects() == Input::undecided) reader_.pause();
    if (!connection_.slowPath.paused || clientIsGone()) endOfRequests();
}

void ServerCodec::endOfRequests() {
    if (reader_.expects() == Input::body) reader_.cutBody({Status::badRequest, "the connection ended inside the body"});
    if (connection_.ctx == nullptr) return;
    if (!clientIsGone()) return closeWhenAnswered();
    connection_.slowPath.draining = true;
    outputPending() ? closeAfterResponse() : closeNow();
}

// True if InputEnd::cancel applies: the client has ended its output, while responses are outstanding. After a request
// for another protocol, the end belongs to that protocol.
bool ServerCodec::clientIsGone() const noexcept {
    return options_->inputEnd == InputEnd::cancel && connection_.inputShutdown && !connection_.slots.empty() &&
           !connection_.slowPath.closing && reader_.expects() != Input::undecided;
}

// The last response has been sent. The peer's end, or a timeout, closes the connection.
void ServerCodec::onOutputEnded() {
    connection_.outputShutdown = true;
    if (connection_.inputShutdown) return closeNow();
    constexpr Duration lingerTime = std::chrono::seconds(2);
    linger_ = std::make_unique<ScheduledTask>(connection_.ctx->loop().schedule(
        [channel = ChannelRef(connection_.ctx->channel())] { channel->close(); }, lingerTime));
}

// A request may already be in the kernel, sent before its client could know about the drain. So an idle connection is
// closed only after the drain barrier, that is, after one more poll.
void ServerCodec::beginDrain() {
    if (connection_.slowPath.draining) return;
    connection_.slowPath.draining = true;
    if (reader_.expects() != Input::head || !connection_.slots.empty()) return closeWhenAnswered();
    connection_.atDrainBarrier = true;
    connection_.ctx->loop().local<detail::DrainBarrier>().join(connection_.ctx->channel());
    resumeReading();
}

// No further request is read; the last response has `Connection: close`.
void ServerCodec::closeWhenAnswered() {
    connection_.slowPath.draining = true;
    connection_.atDrainBarrier = false;
    reader_.expectNoMore();
    if (!connection_.slots.empty() || connection_.slowPath.closing) return;
    // Lingers even without a response: a request that crosses our FIN must be read, or close() resets the connection.
    outputPending() || !connection_.inputShutdown ? closeAfterResponse() : closeNow();
}

bool ServerCodec::outputPending() const noexcept {
    return connection_.ctx != nullptr && connection_.ctx->channel().pendingBytes() > 0;
}

// Sends what has been encoded, then closes. ctx->close() begins at the next handler towards the head, so it does not
// call ServerCodec::close().
void ServerCodec::closeNow() {
    connection_.slowPath.closing = true;
    reader_.expect(Input::ended);
    if (connection_.ctx != nullptr) connection_.ctx->close();
}

// The last response has been encoded. Once its bytes are in the kernel, our output is shut down, and the rest of the
// input is read and discarded: a close with unread input would reset the connection, and the peer might lose the
// response.
void ServerCodec::closeAfterResponse() {
    connection_.slowPath.closing = true;
    reader_.end();
    const std::optional<int> socketLinger = writer_.takeLinger();  // SO_LINGER to restore before the orderly close
    ChannelPromise written = connection_.ctx->newPromise();
    written.setUncancellable();  // it covers all of the output
    written.addListener([channel = ChannelRef(connection_.ctx->channel()), inputShutdown = connection_.inputShutdown,
                         socketLinger](const ChannelFuture& done) {
        if (done.success() && socketLinger) channel->setOption(ChannelOption::LINGER, *socketLinger);
        if (done.success() && !inputShutdown) {
            channel->shutdownOutput();
        } else {
            channel->close();
        }
    });
    connection_.ctx->finishOutput(std::move(written));
    if (connection_.ctx != nullptr) connection_.ctx->flush();
    writer_.dropAll("the connection was closed before a queued response was sent");  // a listener may remove this codec
    if (connection_.slowPath.paused) resumeReading();
}

// ---- timeouts ----

void ServerCodec::checkTimeouts() {
    if (connection_.ctx == nullptr) return;
    const auto exceeded = timeouts_.check({.requests = connection_.slots.backTicket(),
                                           .written = connection_.ctx->channel().writtenBytes(),
                                           .pending = outputPending(),
                                           .unanswered = !connection_.slots.empty(),
                                           .reading = reader_.reading() && !connection_.slowPath.paused});
    if (!exceeded) return;
    switch (*exceeded) {
        case detail::TimeoutKind::idle: return closeNow();
        case detail::TimeoutKind::stalled:
            log(LogLevel::debug, "an HTTP connection was closed: its client does not read the responses");
            connection_.ctx->close();
            return;
        case detail::TimeoutKind::body:
            timeouts_.satisfied();
            return reader_.cutBody({Status::requestTimeout, "the request body arrived too slowly"});
        case detail::TimeoutKind::head:
            timeouts_.satisfied();
            return reader_.refuseHead({Status::requestTimeout, "the request head arrived too slowly"});
    }
}

}  // namespace weft::http
