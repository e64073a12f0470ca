#include <weft/pipeline/detail/encoded_write.hpp>

#include <utility>

namespace weft::detail {

void undoEncoded(ChannelHandlerContext& ctx, ChannelOutput& output, std::uint64_t begin) noexcept {
    if (!output.cutTo(begin)) ctx.close(ChannelPromise());
}

}  // namespace weft::detail
