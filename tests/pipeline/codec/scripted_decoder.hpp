// Shared by the tests of ByteToMessageDecoder: a decoder whose decode() is a function of the test, two such functions,
// and a handler that records its output.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/byte_to_message_decoder.hpp>
#include <weft/testing/recorder.hpp>

#include "segmentation.hpp"

namespace weft::test {

inline Buffer bytes(std::string_view text) {
    return Buffer::copyOf(text);
}

// Each call of decode() runs the function that the test has set.
struct Scripted final : ByteToMessageDecoder {
    using Decode = std::function<void(ChannelHandlerContext&, Buffer&, DecoderOutput&)>;
    explicit Scripted(Decode decode, Decode last = {}) : onDecode(std::move(decode)), onLast(std::move(last)) {}

    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override { onDecode(ctx, in, out); }
    void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) override {
        if (onLast) return onLast(ctx, in, out);
        ByteToMessageDecoder::decodeLast(ctx, in, out);
    }
    void handlerRemoved0(ChannelHandlerContext&) override { ++removals; }

    Decode onDecode;
    Decode onLast;
    int removals = 0;
};

// One letter per message.
inline void letter(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) {
    out.add(Message(in.split(1)));
}
// Two letters per message.
inline void pair(ChannelHandlerContext&, Buffer& in, DecoderOutput& out) {
    if (in.readableBytes() >= 2) out.add(Message(in.split(2)));
}

inline std::string textOf(const Message& message) {
    return std::string(message.get<Buffer>().view());
}

// Records the decoder's output in order.
struct Listener final : ChannelInboundHandler {
    using OnRead = std::function<void(ChannelHandlerContext&, const std::string&)>;
    explicit Listener(Events& events, OnRead action = {}) : events(events), action(std::move(action)) {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override {
        const std::string text = message.is<Buffer>() ? textOf(message) : std::string(message.typeName());
        message.reset();
        events.push_back(text);
        if (action) action(ctx, text);
    }
    void channelReadComplete(ChannelHandlerContext&) override { events.push_back("complete"); }
    void channelInactive(ChannelHandlerContext&) override { events.push_back("inactive"); }
    void userEventTriggered(ChannelHandlerContext&, Message&& event) override {
        events.push_back(event.is<InputShutdownEvent>() ? "input shutdown" : "event");
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override { events.push_back(kindOf(cause)); }
    Events& events;
    OnRead action;
};

}  // namespace weft::test
