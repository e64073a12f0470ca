#include <weft/pipeline/detail/encoded_write.hpp>

#include <utility>

#include <weft/pipeline/detail/encoder_calls.hpp>

namespace weft::detail {

namespace {

Buffer joined(Ring<Buffer> pieces) {
    if (pieces.size() == 1) return pieces.pop();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) bytes += pieces[i].readableBytes();
    Buffer all = bytes > 0 ? Buffer::allocate(bytes) : Buffer();
    while (!pieces.empty()) all.append(pieces.pop().view());
    return all;
}

}  // namespace

bool ownsOutput(const ChannelHandlerContext& ctx) noexcept {
    return EncoderCalls::ownsOutput(ctx);
}

void passWhole(ChannelHandlerContext& ctx, ChannelOutput& output, ChannelPromise&& promise) {
    Buffer whole;
    try {
        whole = joined(output.takePieces());
    } catch (...) {
        ctx.close(ChannelPromise());
        throw;
    }
    ctx.write(Message(std::move(whole)), std::move(promise));
}

void undoEncoded(ChannelHandlerContext& ctx, ChannelOutput& output, std::uint64_t begin) noexcept {
    if (!output.cutTo(begin)) ctx.close(ChannelPromise());
}

}  // namespace weft::detail
