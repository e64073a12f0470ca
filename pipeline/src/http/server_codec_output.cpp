// The codec's way out: encoded bytes gather in one piece until the flush point.
#include <weft/pipeline/http/server_codec.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "http/codec_log.hpp"
#include "pipeline_entry.hpp"

namespace weft::http {

// Body bytes: small ones behind their head, others as they are.
void ServerCodec::emitBytes(Buffer&& data, ChannelPromise&& promise) {
    if (data.readableBytes() <= copiedBody) {
        appendSmall(data.view());
        return finishWrite(std::move(promise));
    }
    passOut({});
    if (ctx_ == nullptr) return cutShort(promise);
    ctx_->write(Message(std::move(data)), std::move(promise));
}

void ServerCodec::appendSmall(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), reserve(bytes.size()));
    output_.produced(bytes.size());
}

// Room for `bytes` behind the output.
char* ServerCodec::reserve(std::size_t bytes, bool leaving) {
    return reserveHere(bytes, leaving);
}

// There was none before the output is passed on.
[[gnu::noinline, gnu::cold]] char* ServerCodec::reserveAnew(std::size_t bytes, bool leaving) {
    passOut({});
    return reserve(bytes, leaving);
}

// Hands the output on; the promise completes when its last byte is in the kernel.
void ServerCodec::passOut(ChannelPromise&& promise) {
    if (promise.isVoid() && (ctx_ == nullptr || output_.empty())) return;
    if (ctx_ == nullptr) return cutShort(promise);
    Buffer said;
    try {
        said = output_.take();
    } catch (...) {
        return loseOutput(promise);
    }
    ctx_->write(Message(std::move(said)), std::move(promise));
}

// In a catch block. There was no memory to pass it on: nothing may be said behind it, so the connection ends.
void ServerCodec::loseOutput(const ChannelPromise& promise) {
    detail::logLostOutput(ctx_, std::current_exception());
    output_.clear();
    expects_ = Input::ended;
    special_.closing = true;
    if (!promise.isVoid()) promise.tryFailure(std::current_exception());
    if (ctx_ != nullptr) ctx_->close(ChannelPromise());
}

// What is answered in one turn, by the handler or by sixteen fibers, leaves in one piece at the flush point.
void ServerCodec::flush(ChannelHandlerContext&) {
    flushWanted_ = true;
    loop_->requestFlushPoint(*this);
}

void ServerCodec::onFlushPoint() noexcept {
    if (ctx_ == nullptr) return;
    if (flushWanted_ && !output_.empty()) [[likely]] {
        const std::size_t taken = ctx_->tryWriteStraight(output_.view(), output_.storage());
        output_.consumed(taken);
        if (output_.empty()) [[likely]] {
            flushWanted_ = false;
            return output_.clear();
        }
    }
    passOnAtFlushPoint();
}

[[gnu::noinline]] void ServerCodec::passOnAtFlushPoint() noexcept {
    const bool wanted = std::exchange(flushWanted_, false);
    try {
        wanted ? flushOut() : output_.settle();
    } catch (...) {
        loseOutput({});
    }
}

void ServerCodec::flushOut() {
    weft::detail::PipelineEntry entry(ctx_->channel());
    output_.empty() ? ctx_->flush() : ctx_->writeAndFlush(Message(output_.take()));
}

}  // namespace weft::http
