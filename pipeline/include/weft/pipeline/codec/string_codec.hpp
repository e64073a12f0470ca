// StringDecoder and StringEncoder: convert between Buffers and std::string, byte for byte; added after a framing
// decoder.
#pragma once

#include <string>

#include <weft/pipeline/codec/message_to_byte_encoder.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>

namespace weft {

// Each Buffer becomes a std::string of its bytes; they are not checked to be UTF-8.
class StringDecoder final : public SimpleInboundHandler<Buffer> {
  public:
    using InboundOut = Messages<std::string>;

  private:
    void channelRead0(ChannelHandlerContext& ctx, Buffer bytes) override {
        ctx.fireChannelRead(Message(std::string(bytes.view())));
    }
};

// Each std::string becomes its bytes.
class StringEncoder final : public MessageToByteEncoder<std::string> {
  private:
    void encode(ChannelHandlerContext&, std::string& text, ChannelOutput& out) override { out.append(text); }
};

}  // namespace weft
