#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/detail/codec_failures.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

namespace {

// Blocks of at least this size are released when few of their bytes are left.
constexpr std::size_t keptBlockBytes = 1024;

// Joins consecutive waiting reads: their pieces may be small, and lie in many blocks.
bool join(Message& last, Message& message) {
    Buffer* const to = last.getIf<Buffer>();
    Buffer* const from = to != nullptr ? message.getIf<Buffer>() : nullptr;
    if (from == nullptr || !detail::isSparse(*from)) return false;
    to->append(from->view());
    message.reset();
    return true;
}

class Raised {
  public:
    explicit Raised(bool& flag) noexcept : flag_(flag) { flag_ = true; }
    ~Raised() { flag_ = false; }

  private:
    bool& flag_;
};

}  // namespace

// A decoder keeps the bytes of one connection (D-6), so it may be in one pipeline only.
void ByteToMessageDecoder::handlerAdded(ChannelHandlerContext& ctx) {
    if (ctx_ != nullptr) {
        throw std::logic_error(
            "a decoder buffers the bytes of one connection, and this one is already in a pipeline; create one "
            "for each channel");
    }
    ctx_ = &ctx;
    ended_ = false;
    handlerAdded0(ctx);
}

// Inside decode() or while messages are passed on, the outer frame on the stack also passes on the bytes (D-3).
void ByteToMessageDecoder::handlerRemoved(ChannelHandlerContext& ctx) {
    if (ctx_ != &ctx) return;
    removing_ = true;
    if (busy_) return;
    const Raised busy(busy_);
    leave(ctx);
}

void ByteToMessageDecoder::channelRead(ChannelHandlerContext& ctx, Message&& message) {
    arrive(ctx, {Kind::read, std::move(message)});
}

void ByteToMessageDecoder::channelReadComplete(ChannelHandlerContext& ctx) {
    arrive(ctx, {Kind::readComplete, {}});
}

void ByteToMessageDecoder::channelInactive(ChannelHandlerContext& ctx) {
    arrive(ctx, {Kind::inactive, {}});
}

void ByteToMessageDecoder::userEventTriggered(ChannelHandlerContext& ctx, Message&& event) {
    if (!event.is<InputShutdownEvent>()) return ctx.fireUserEventTriggered(std::move(event));
    arrive(ctx, {Kind::inputShutdown, std::move(event)});
}

// Queues an event that arrives while an earlier one is being handled (D-4).
void ByteToMessageDecoder::arrive(ChannelHandlerContext& ctx, Arrival arrival) {
    if (busy_) {
        const bool joined = !waiting_.empty() && join(waiting_.back().message, arrival.message);
        return joined ? void() : waiting_.push(std::move(arrival));
    }
    const Raised busy(busy_);
    handle(ctx, arrival);
    while (!waiting_.empty()) {
        Arrival next = waiting_.pop();
        handle(ctx, next);
    }
}

void ByteToMessageDecoder::handle(ChannelHandlerContext& ctx, Arrival& arrival) {
    if (ctx_ == nullptr) return pass(ctx, arrival);
    switch (arrival.kind) {
        case Kind::read:
            if (arrival.message.is<Buffer>()) return takeBytes(ctx, arrival.message.take<Buffer>());
            break;
        case Kind::readComplete: endCycle(ctx); break;
        case Kind::inputShutdown:
        case Kind::inactive: endInput(ctx); break;
    }
    pass(ctx, arrival);
    if (removing_) leave(ctx);
}

void ByteToMessageDecoder::pass(ChannelHandlerContext& ctx, Arrival& arrival) {
    switch (arrival.kind) {
        case Kind::read: return ctx.fireChannelRead(std::move(arrival.message));
        case Kind::readComplete: return ctx.fireChannelReadComplete();
        case Kind::inputShutdown: return ctx.fireUserEventTriggered(std::move(arrival.message));
        case Kind::inactive: return ctx.fireChannelInactive();
    }
}

void ByteToMessageDecoder::takeBytes(ChannelHandlerContext& ctx, Buffer bytes) {
    received_ = true;
    ended_ = false;
    guarded(ctx, [&] {
        if (input_.empty()) {
            input_ = std::move(bytes);
        } else {
            input_.append(bytes.view());
            bytes = Buffer();
        }
        decodeAll(ctx);
    });
    if (input_.empty()) input_ = Buffer();
    if (removing_) leave(ctx);
}

// With AUTO_READ off, a cycle without a message reads again: the handlers after this one got nothing, so none of them
// would call read().
void ByteToMessageDecoder::endCycle(ChannelHandlerContext& ctx) {
    discardRead();
    const bool needsInput = received_ && !emitted_ && !ctx.channel().config().autoRead;
    received_ = emitted_ = false;
    if (needsInput) ctx.read();
}

// Decodes what is left before the end of input is passed on (D-5).
void ByteToMessageDecoder::endInput(ChannelHandlerContext& ctx) {
    if (std::exchange(ended_, true)) return;
    guarded(ctx, [&] {
        decodeAll(ctx);
        if (!removing_) decodeLast(ctx, input_, output_);
    });
    if (removing_) leave(ctx);
    input_ = Buffer();
    if (std::exchange(emitted_, false)) ctx.fireChannelReadComplete();
}

void ByteToMessageDecoder::decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) {
    if (!in.empty()) decode(ctx, in, out);
}

// Calls decode() while it makes progress (D-1), and passes on its messages after each call (D-2).
void ByteToMessageDecoder::decodeAll(ChannelHandlerContext& ctx) {
    while (!input_.empty() && !removing_) {
        const std::size_t before = input_.readableBytes();
        decode(ctx, input_, output_);
        const bool consumed = input_.readableBytes() != before;
        if (output_.empty()) {
            if (!consumed) return;
        } else if (!consumed && !removing_) {
            throw DecoderException("decode() of " + ctx.name() + " produced a " +
                                   std::string(output_.messages_.front().typeName()) +
                                   " without consuming a byte; it must consume the bytes of every message");
        }
        emit(ctx);
    }
}

// Passes on the messages made before a failure, then reports it.
template <class Work>
void ByteToMessageDecoder::guarded(ChannelHandlerContext& ctx, Work work) {
    std::exception_ptr failure;
    try {
        work();
    } catch (...) {
        failure = detail::asDecoderException(ctx);
    }
    emit(ctx);
    if (failure) fail(ctx, std::move(failure));
}

// Goes to exceptionCaught() of this handler (E-1); an exception from that is only logged (E-4).
void ByteToMessageDecoder::fail(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept {
    try {
        exceptionCaught(ctx, cause);
    } catch (...) {
        log(LogLevel::warning, "exceptionCaught() of " + ctx.name() + " threw " + describe(std::current_exception()) +
                                   " while handling " + describe(cause));
    }
}

void ByteToMessageDecoder::emit(ChannelHandlerContext& ctx) {
    while (!output_.empty()) {
        emitted_ = true;
        ctx.fireChannelRead(output_.messages_.pop());
    }
}

// A few bytes of the next message must not keep a large block while the peer is silent (D-6).
void ByteToMessageDecoder::discardRead() {
    if (input_.empty() || input_.heldBytes() < keptBlockBytes) return;
    if (input_.readableBytes() > input_.heldBytes() / 8) return;
    input_ = Buffer::copyOf(input_.view());
}

void ByteToMessageDecoder::leave(ChannelHandlerContext& ctx) {
    removing_ = false;
    ctx_ = nullptr;
    emit(ctx);
    if (!input_.empty()) {
        ctx.fireChannelRead(Message(std::exchange(input_, Buffer())));
        ctx.fireChannelReadComplete();
        emitted_ = false;
    }
    handlerRemoved0(ctx);
}

Buffer ByteToMessageDecoder::takeFrame(Buffer& in, std::size_t length) noexcept {
    return length == in.readableBytes() ? std::exchange(in, Buffer()) : in.split(length);
}

}  // namespace weft
