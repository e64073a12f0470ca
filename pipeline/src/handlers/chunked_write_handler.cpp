#include <weft/pipeline/handlers/chunked_write_handler.hpp>

#include <stdexcept>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/pipeline/detail/limited_log.hpp>

namespace weft {

namespace {

// Level debug when the channel was closed: a peer that has read enough may close it.
void logLost(const std::exception_ptr& cause) noexcept {
    static detail::LimitedLog limited;
    try {
        const bool closed = errorCodeOf(cause) == ClosedChannelException().code();
        limited.write(closed ? LogLevel::debug : LogLevel::warning, {"a chunked write ended early: ", describe(cause)});
    } catch (...) {
        limited.write(LogLevel::warning, {"a chunked write ended early"});
    }
}

}  // namespace

void ChunkedWriteHandler::handlerAdded(ChannelHandlerContext& ctx) {
    ctx_ = &ctx;
}

void ChunkedWriteHandler::handlerRemoved(ChannelHandlerContext&) {
    ctx_ = nullptr;
    failAll(std::make_exception_ptr(std::runtime_error("the ChunkedWriteHandler has been removed from its pipeline")));
}

void ChunkedWriteHandler::channelInactive(ChannelHandlerContext& ctx) {
    failAll(std::make_exception_ptr(ClosedChannelException()));
    ctx.fireChannelInactive();
}

void ChunkedWriteHandler::channelUnregistered(ChannelHandlerContext& ctx) {
    goOn_.cancel();
    ctx.fireChannelUnregistered();
}

void ChunkedWriteHandler::channelWritabilityChanged(ChannelHandlerContext& ctx) {
    if (ctx.channel().isWritable()) pump();
    ctx.fireChannelWritabilityChanged();
}

void ChunkedWriteHandler::write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) {
    const bool input = message.is<ChunkedInputPointer>();
    if (!input && queue_.empty()) return ctx.write(std::move(message), std::move(promise));
    if (input && !message.get<ChunkedInputPointer>()) throw std::invalid_argument("a null ChunkedInput was written");
    if (Buffer* const buffer = message.getIf<Buffer>()) {
        const Buffer* const last = queue_.back().message.getIf<Buffer>();  // not empty: inputs begin a queue
        last != nullptr ? detail::compactAfter(*last, *buffer) : detail::compact(*buffer);
    }
    queue_.push({std::move(message), std::move(promise), {}});
}

void ChunkedWriteHandler::flush(ChannelHandlerContext& ctx) {
    if (queue_.empty()) return ctx.flush();
    flushed_ = queue_.size();
    pump();
}

void ChunkedWriteHandler::resumeTransfer() {
    if (ctx_ != nullptr) pump();
}

// Writes may call back here, because they change writability and complete promises. The outer call does the work.
void ChunkedWriteHandler::pump() {
    if (pumping_) return;
    const detail::ChannelPin pin(ctx_->channel());
    pumping_ = true;
    const bool more = pumpSome();
    pumping_ = false;
    if (ctx_ == nullptr || !more) return;
    goOn_.cancel();
    goOn_ = ctx_->schedule([this] { pump(); }, Duration::zero());
}

// True when it stopped after chunksAtOnce chunks to give other channels a turn.
bool ChunkedWriteHandler::pumpSome() {
    unsigned chunks = 0;
    bool waits = false;
    do {
        while (!waits && flushed_ > 0 && chunks < chunksAtOnce && ctx_->channel().isWritable()) {
            const Step step = writeFront();
            if (ctx_ == nullptr) return false;
            waits = step == Step::waits;
            chunks += step == Step::wrote;
        }
        ctx_->flush();  // may make the channel writable again
        if (ctx_ == nullptr) return false;
    } while (!waits && flushed_ > 0 && chunks < chunksAtOnce && ctx_->channel().isWritable());
    return !waits && flushed_ > 0 && ctx_->channel().isWritable();
}

ChunkedWriteHandler::Step ChunkedWriteHandler::writeFront() {
    Pending& front = queue_.front();
    if (!front.message.is<ChunkedInputPointer>()) {
        finishFront(std::move(front.message));
        return Step::finished;
    }
    if (front.promise.done()) {  // cancelled
        failFront(nullptr);
        return Step::finished;
    }
    if (front.lastChunk.valid() && front.lastChunk.done() && !front.lastChunk.success()) {
        failFront(front.lastChunk.cause());
        return Step::finished;
    }
    try {
        return writeChunk();
    } catch (...) {
        if (chunkWanted()) failFront(std::current_exception());
        return Step::finished;
    }
}

// True when writeChunk() has taken the front's input out of the queue and its write has not failed meanwhile.
bool ChunkedWriteHandler::chunkWanted() {
    ChunkedInputPointer* input = flushed_ > 0 ? queue_.front().message.getIf<ChunkedInputPointer>() : nullptr;
    return input != nullptr && *input == nullptr;
}

// Takes the input out of the queue while it calls it, because the input's code may fail the whole queue.
ChunkedWriteHandler::Step ChunkedWriteHandler::writeChunk() {
    ChunkedInputPointer input = std::move(queue_.front().message.get<ChunkedInputPointer>());
    Message chunk = input->readChunk();
    const bool end = input->isEndOfInput();
    if (!chunkWanted()) return Step::finished;
    if (end) {
        finishFront(chunk.empty() ? Message(Buffer()) : std::move(chunk));
        return Step::wrote;
    }
    Pending& front = queue_.front();
    front.message.get<ChunkedInputPointer>() = std::move(input);
    if (chunk.empty()) return Step::waits;
    ChannelPromise written = ctx_->newPromise();
    front.lastChunk = written.future();
    ctx_->write(std::move(chunk), std::move(written));
    return Step::wrote;
}

// The last message of a write carries its promise. After other chunks, it must not be cancelled alone (W-2).
void ChunkedWriteHandler::finishFront(Message&& last) {
    Message message = std::move(last);
    const Pending done = queue_.pop();
    --flushed_;
    if (done.lastChunk.valid() && !done.promise.setUncancellable()) return;
    ctx_->write(std::move(message), done.promise);
}

void ChunkedWriteHandler::failFront(const std::exception_ptr& cause) {
    const Pending failed = queue_.pop();
    flushed_ -= flushed_ > 0;
    if (failed.promise.isVoid() && cause) logLost(cause);
    failed.promise.tryFailure(cause);
}

void ChunkedWriteHandler::failAll(const std::exception_ptr& cause) {
    while (!queue_.empty()) failFront(cause);
}

}  // namespace weft
