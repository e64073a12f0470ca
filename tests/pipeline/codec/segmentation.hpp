// Cuts the same bytes in different ways: a decoder's output must not depend on the cuts.
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/codec/codec_errors.hpp>
#include <weft/pipeline/embedded_channel.hpp>

namespace weft::test {

using Outcome = std::vector<std::string>;
using AddDecoder = std::function<void(ChannelPipeline&)>;
using Pieces = std::vector<std::string>;

inline std::string kindOf(const std::exception_ptr& cause) {
    try {
        std::rethrow_exception(cause);
    } catch (const TooLongFrameException&) {
        return "!too long";
    } catch (const CorruptedFrameException&) {
        return "!corrupted";
    } catch (const DecoderException& error) {
        return std::string("!decoder: ") + error.what();
    } catch (const std::exception& error) {
        return std::string("!") + error.what();
    }
}

// The handler after the decoder: records frames as text, errors as "!kind".
class FrameCollector final : public ChannelInboundHandler {
  public:
    explicit FrameCollector(Outcome& outcome) : outcome_(outcome) {}
    void channelRead(ChannelHandlerContext&, Message&& message) override {
        if (message.is<Buffer>()) {
            outcome_.emplace_back(message.get<Buffer>().view());
        } else {
            outcome_.push_back(std::string(message.typeName()));
        }
    }
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        outcome_.push_back(kindOf(cause));
    }

  private:
    Outcome& outcome_;
};

// Delivers each piece in its own read cycle, or all pieces in one; then closes the channel.
inline Outcome decodePieces(const AddDecoder& add, const Pieces& pieces, bool oneCycle = false) {
    Outcome outcome;
    EmbeddedChannel channel;
    add(channel.pipeline());
    channel.pipeline().addLast<FrameCollector>(outcome);
    for (const std::string& piece : pieces) {
        channel.channel().onMessage(Message(Buffer::copyOf(piece)));
        if (!oneCycle) channel.channel().onReadComplete();
    }
    if (oneCycle) channel.channel().onReadComplete();
    channel.finish();
    return outcome;
}

inline Outcome decodeWhole(const AddDecoder& add, std::string_view bytes) {
    return decodePieces(add, {std::string(bytes)});
}

inline Pieces cut(std::string_view bytes, std::mt19937& random, std::size_t longest) {
    Pieces pieces;
    while (!bytes.empty()) {
        const std::size_t length = std::min<std::size_t>(bytes.size(), 1 + random() % longest);
        pieces.emplace_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
    }
    return pieces;
}

// Delivers the bytes one by one and cut at random places, in many read cycles and in one.
inline void expectSameForAnyCut(const AddDecoder& add, std::string_view bytes, unsigned seed) {
    const Outcome whole = decodeWhole(add, bytes);
    std::mt19937 random(seed);
    for (const std::size_t longest : {1, 2, 3, 7, 40}) {
        const Pieces pieces = cut(bytes, random, longest);
        for (const bool oneCycle : {false, true}) {
            ASSERT_EQ(decodePieces(add, pieces, oneCycle), whole)
                << "seed " << seed << ", pieces of up to " << longest << ", one cycle: " << oneCycle
                << ", input: " << testing::PrintToString(std::string(bytes));
        }
    }
}

// `length` random letters of `alphabet`.
inline std::string randomText(std::mt19937& random, std::string_view alphabet, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
    return text;
}

}  // namespace weft::test
