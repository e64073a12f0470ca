#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/detail/held_bytes.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

namespace {

// A block from here on is given back when little of it is left over.
constexpr std::size_t keptBlockBytes = 1024;

// Reads that wait in a row become one: their pieces may be small, and of many blocks.
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

std::exception_ptr asDecoderException(const ChannelHandlerContext& ctx) {
    try {
        throw;
    } catch (const DecoderException&) {
        return std::current_exception();
    } catch (...) {
        try {
            std::throw_with_nested(
                DecoderException("decode() of " + ctx.name() + " threw " + describe(std::current_exception())));
        } catch (...) {
            return std::current_exception();
        }
    }
}

}  // namespace

// D-6: what it keeps belongs to one connection.
void ByteToMessageDecoder::handlerAdded(ChannelHandlerContext& ctx) {
    if (ctx_ != nullptr) {
        throw std::logic_error(
            "a decoder keeps the bytes of one connection and is in a pipeline already; make one for "
            "each channel");
    }
    ctx_ = &ctx;
    ended_ = false;
    handlerAdded0(ctx);
}

// D-3: inside decode() or while messages leave, the frame that does that also lets go of the bytes.
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

// D-4.
void ByteToMessageDecoder::arrive(ChannelHandlerContext& ctx, Arrival arrival) {
    if (busy_) return keep(std::move(arrival));
    const Raised busy(busy_);
    handle(ctx, arrival);
    while (!waiting_.empty()) {
        Arrival next = waiting_.pop();
        handle(ctx, next);
    }
}

void ByteToMessageDecoder::keep(Arrival&& arrival) {
    if (!waiting_.empty() && join(waiting_.back().message, arrival.message)) return;
    waiting_.push(std::move(arrival));
}

void ByteToMessageDecoder::handle(ChannelHandlerContext& ctx, Arrival& arrival) {
    if (ctx_ == nullptr) return pass(ctx, arrival);
    switch (arrival.kind) {
        case Kind::read:
            if (arrival.message.is<Buffer>()) return takeBytes(ctx, arrival.message.take<Buffer>());
            break;
        case Kind::readComplete:
            endCycle(ctx);
            break;
        case Kind::inputShutdown:
        case Kind::inactive:
            endInput(ctx);
            break;
    }
    pass(ctx, arrival);
    if (removing_) leave(ctx);
}

void ByteToMessageDecoder::pass(ChannelHandlerContext& ctx, Arrival& arrival) {
    switch (arrival.kind) {
        case Kind::read:
            return ctx.fireChannelRead(std::move(arrival.message));
        case Kind::readComplete:
            return ctx.fireChannelReadComplete();
        case Kind::inputShutdown:
            return ctx.fireUserEventTriggered(std::move(arrival.message));
        case Kind::inactive:
            return ctx.fireChannelInactive();
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

// nobody behind this has anything to ask the next read() for.
void ByteToMessageDecoder::endCycle(ChannelHandlerContext& ctx) {
    discardRead();
    const bool hungry = received_ && !emitted_ && !ctx.channel().config().autoRead;
    received_ = emitted_ = false;
    if (hungry) ctx.read();
}

// D-5.
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

// D-1, D-2.
void ByteToMessageDecoder::decodeAll(ChannelHandlerContext& ctx) {
    while (!input_.empty() && !removing_) {
        const std::size_t before = input_.readableBytes();
        decode(ctx, input_, output_);
        const bool consumed = input_.readableBytes() != before;
        if (output_.empty()) {
            if (!consumed) return;
        } else if (!consumed && !removing_) {
            throw DecoderException("decode() of " + ctx.name() + " made a " +
                                   std::string(output_.messages_.front().typeName()) +
                                   " without consuming a byte; it must take the bytes of a message off its input");
        }
        emit(ctx);
    }
}

// What has been made before a failure is delivered before it.
template <class Work>
void ByteToMessageDecoder::guarded(ChannelHandlerContext& ctx, Work work) {
    std::exception_ptr failure;
    try {
        work();
    } catch (...) {
        failure = asDecoderException(ctx);
    }
    emit(ctx);
    if (failure) fail(ctx, std::move(failure));
}

// E-1, and E-4: what exceptionCaught() throws goes no further.
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

// D-6: a few bytes of the next message must not keep a large block for as long as the peer is silent.
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
