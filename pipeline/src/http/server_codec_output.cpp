// The codec's way out: encoded bytes gather in one piece until the flush point.
#include <weft/pipeline/http/server_codec.hpp>

#include <algorithm>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "pipeline_entry.hpp"

namespace weft::http {

// Body bytes: small ones behind their head, others as they are.
void ServerCodec::emitBytes(Buffer&& data, ChannelPromise&& promise) {
    if (data.readableBytes() <= copiedBody) {
        appendSmall(data.view());
        return finishWrite(std::move(promise));
    }
    passOut({});
    if (ctx_ != nullptr) ctx_->write(Message(std::move(data)), std::move(promise));
}

void ServerCodec::appendSmall(std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), reserve(bytes.size()));
    output_.produced(bytes.size());
}

// Room for `bytes` behind the output. What is in the shared block must leave it at the flush point, flushed or not.
char* ServerCodec::reserve(std::size_t bytes, bool leaving) {
    char* room = output_.room(bytes, leaving);
    if (room == nullptr) [[unlikely]] {
        passOut({});
        room = output_.room(bytes, leaving);
    }
    if (output_.empty() && ctx_ != nullptr) ctx_->loop().requestFlushPoint(*this);
    return room;
}

// Without a listener the bytes wait for company until the flush point.
void ServerCodec::finishWrite(ChannelPromise&& promise) {
    if (!promise.isVoid()) passOut(std::move(promise));
}

// Hands the output on; the promise completes when its last byte is in the kernel.
void ServerCodec::passOut(ChannelPromise&& promise) {
    if (ctx_ == nullptr || (output_.empty() && promise.isVoid())) return;
    Buffer said;
    try {
        said = output_.take();
    } catch (...) {
        return loseOutput(promise);
    }
    ctx_->write(Message(std::move(said)), std::move(promise));
}

// There was no memory to pass it on: nothing may be said behind it, so the connection ends.
void ServerCodec::loseOutput(const ChannelPromise& promise) {
    output_.clear();
    expects_ = Input::ended;
    closing_ = true;
    if (!promise.isVoid()) promise.tryFailure(std::current_exception());
    if (ctx_ != nullptr) ctx_->close(ChannelPromise());
}

// What is answered in one turn, by the handler or by sixteen fibers, leaves in one piece at the flush point.
void ServerCodec::flush(ChannelHandlerContext& ctx) {
    flushWanted_ = true;
    ctx.loop().requestFlushPoint(*this);
}

void ServerCodec::onFlushPoint() noexcept {
    if (ctx_ == nullptr) return;
    const bool wanted = std::exchange(flushWanted_, false);
    if (wanted && !output_.empty()) [[likely]] {
        const std::size_t taken = ctx_->tryWriteStraight(output_.view());
        if (taken == output_.size()) [[likely]]
            return output_.clear();
        output_.consumed(taken);
    }
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
