// writeEncoded(): what encoders have in common: one message becomes bytes of the output, all of them or none.
#pragma once

#include <cstdint>
#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/channel_promise.hpp>

namespace weft::detail {

// Removes what `ctx` has appended to `output` since `begin`. If a part of it has been flushed, closes the channel,
// because nothing may follow the gap.
void undoEncoded(ChannelHandlerContext& ctx, ChannelOutput& output, std::uint64_t begin) noexcept;

// Calls bool encode(ChannelOutput&), which appends the bytes of a message and calls no handler, then finishOutput()
// with `promise`, which is uncancellable (W-2), or, if encode() returned false, with the void promise. If encode() or
// memory fails, rethrows; then the message has left no byte and the promise is unused. Context: the loop, in a handler.
template <class Encode>
void writeEncoded(ChannelHandlerContext& ctx, ChannelPromise&& promise, Encode encode) {
    ChannelOutput& output = ctx.output();
    const std::uint64_t begin = output.position();
    try {
        const bool covered = encode(output);
        ctx.finishOutput(covered ? std::move(promise) : ChannelPromise());
    } catch (...) {
        undoEncoded(ctx, output, begin);
        throw;
    }
}

}  // namespace weft::detail
