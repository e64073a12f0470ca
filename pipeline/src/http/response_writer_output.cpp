// The output: encoded bytes are batched until the flush point.
#include <weft/pipeline/http/detail/response_writer.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "http/codec_log.hpp"
#include "pipeline_entry.hpp"

namespace weft::http::detail {

void ResponseWriter::begin(ChannelHandlerContext& ctx, std::string_view serverName) {
    heads_ = &ctx.loop().local<HeadCache>();
    serverName_ = heads_->serverName(serverName);
    const ChannelSink* const sink = ctx.channel().sink();
    if (sink != nullptr && sink->supportsDirectWrite()) output_.share(ctx.loop().local<OutputBlock>());
}

void ResponseWriter::end(ChannelHandlerContext& ctx) {
    ctx.loop().withdrawFlushPoint(*this);
    passOut({});
    output_.share(OutputBlock::none());
    if (flushWanted_) ctx.flush();
}

// Writes body bytes: small ones are copied after their head, others are passed on unchanged.
void ResponseWriter::emitBytes(Buffer&& data, ChannelPromise&& promise) {
    if (data.readableBytes() <= copiedBody) {
        appendSmall(data.view());
        return finishWrite(std::move(promise));
    }
    passOut({});
    if (connection_.ctx == nullptr) return cutShort(promise);
    connection_.ctx->write(Message(std::move(data)), std::move(promise));
}

void ResponseWriter::appendSmall(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), reserve(bytes.size()));
    output_.produced(bytes.size());
}

// Returns room for `bytes` after the output.
char* ResponseWriter::reserve(std::size_t bytes, bool leaving) {
    return reserveHere(bytes, leaving);
}

// The output must be passed on first.
[[gnu::noinline, gnu::cold]] char* ResponseWriter::reserveSlow(std::size_t bytes, bool leaving) {
    passOut({});
    return reserve(bytes, leaving);
}

void ResponseWriter::passOut(ChannelPromise&& promise) {
    if (promise.isVoid() && (connection_.ctx == nullptr || output_.empty())) return;
    if (connection_.ctx == nullptr) return cutShort(promise);
    Buffer said;
    try {
        said = output_.take();
    } catch (...) {
        return loseOutput(promise);
    }
    connection_.ctx->write(Message(std::move(said)), std::move(promise));
}

// Call it in a catch block. The output could not be passed on, and nothing may be sent after the gap, so the connection
// ends.
void ResponseWriter::loseOutput(const ChannelPromise& promise) {
    logLostOutput(connection_.ctx, std::current_exception());
    output_.clear();
    connection_.slowPath.closing = true;
    connection_.owner.expectNoMore(connection_.slots.frontTicket(), false);
    if (!promise.isVoid()) promise.tryFailure(std::current_exception());
    if (connection_.ctx != nullptr) connection_.ctx->close(ChannelPromise());
}

bool ResponseWriter::flushNow() noexcept {
    if (!flushWanted_) return false;
    onFlushPoint();
    return true;
}

void ResponseWriter::onFlushPoint() noexcept {
    if (connection_.ctx == nullptr) return;
    if (flushWanted_ && !output_.empty()) [[likely]] {
        const std::size_t taken = connection_.ctx->tryWriteDirect(output_.view(), output_.storage());
        output_.consumed(taken);
        if (output_.empty()) [[likely]] {
            flushWanted_ = false;
            return output_.clear();
        }
    }
    passOnAtFlushPoint();
}

[[gnu::noinline]] void ResponseWriter::passOnAtFlushPoint() noexcept {
    const bool wanted = std::exchange(flushWanted_, false);
    try {
        wanted ? flushOut() : output_.unshare();
    } catch (...) {
        loseOutput({});
    }
}

void ResponseWriter::flushOut() {
    weft::detail::PipelineEntry entry(connection_.ctx->channel());
    output_.empty() ? connection_.ctx->flush() : connection_.ctx->writeAndFlush(Message(output_.take()));
}

}  // namespace weft::http::detail
