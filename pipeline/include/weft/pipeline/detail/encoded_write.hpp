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
// memory fails, rethrows; then the message has left no byte, and the promise is as before. After encode() an encoder
// may have counted the message as sent, so when finishOutput() fails, the channel is closed. Context: the loop, in a
// handler.
template <class Encode>
void writeEncoded(ChannelHandlerContext& ctx, ChannelPromise&& promise, Encode encode) {
    ChannelOutput& output = ctx.output();
    const std::uint64_t begin = output.position();
    bool encoded = false;
    try {
        const bool covered = encode(output);
        encoded = true;
        covered ? ctx.finishOutput(std::move(promise)) : ctx.finishOutput(ChannelPromise());
    } catch (...) {
        undoEncoded(ctx, output, begin);
        if (encoded) ctx.close(ChannelPromise());
        throw;
    }
}

// True if no other handler sees what `ctx` writes.
bool ownsOutput(const ChannelHandlerContext& ctx) noexcept;
// Writes all bytes of `output`, which has no marks, as one Buffer. Throws std::bad_alloc, and then has closed the
// channel, as writeEncoded() does.
void passWhole(ChannelHandlerContext& ctx, ChannelOutput& output, ChannelPromise&& promise);

// As writeEncoded(), for a message that is one Buffer, perhaps an empty one, to another handler that sees it: it may be
// a frame.
template <class Encode>
void writeEncodedWhole(ChannelHandlerContext& ctx, ChannelPromise&& promise, Encode encode) {
    if (ownsOutput(ctx)) return writeEncoded(ctx, std::move(promise), std::move(encode));
    ChannelOutput output;
    encode(output);
    passWhole(ctx, output, std::move(promise));
}

}  // namespace weft::detail
