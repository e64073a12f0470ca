// DelimitedFrameDecoder: frames that end with a mark in the stream; what line and delimiter decoders share.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <weft/pipeline/codec/byte_to_message_decoder.hpp>

namespace weft {

// Buffers in, one Buffer per frame out, without copying; frames may be empty. A frame of more than `maxLength` bytes,
// its delimiter not counted, is thrown away with its delimiter and reported once as TooLongFrameException: with
// `failFast` as soon as it is known, else when it has ended (D-7). What it yields depends on the bytes alone, not on
// how they were cut. Bytes behind the last delimiter are dropped at the end of input. Keeps at most `maxLength` bytes
// and a delimiter.
class DelimitedFrameDecoder : public ByteToMessageDecoder {
  public:
    using InboundOut = Messages<Buffer>;

  protected:
    struct Boundary {
        std::size_t frame;      // bytes before the delimiter
        std::size_t delimiter;  // bytes of it
    };

    // `maxLength` and `longestDelimiter` in bytes, 1 to 2 GiB - 1; throws std::invalid_argument, which begins with
    // `who`, when they are not.
    DelimitedFrameDecoder(const char* who, std::size_t maxLength, std::size_t longestDelimiter, bool stripDelimiter,
                          bool failFast);

    // The delimiter in `bytes` that ends first; of those that end together the longest. None of them ends at or before
    // `searched`.
    virtual std::optional<Boundary> find(std::string_view bytes, std::size_t searched) const = 0;

  private:
    void decode(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) final;
    void decodeLast(ChannelHandlerContext& ctx, Buffer& in, DecoderOutput& out) final;
    void endFrame(ChannelHandlerContext& ctx, Buffer& in, Boundary boundary, DecoderOutput& out);
    void waitForBoundary(ChannelHandlerContext& ctx, Buffer& in);
    void report(ChannelHandlerContext& ctx);

    const std::size_t maxLength_;
    const std::size_t longestDelimiter_;
    const bool stripDelimiter_;
    const bool failFast_;
    std::size_t searched_ = 0;  // bytes of the input in which no delimiter ends
    bool discarding_ = false;   // the frame is too long: its end is looked for
    bool reported_ = false;     // of the frame that is discarded
};

}  // namespace weft
