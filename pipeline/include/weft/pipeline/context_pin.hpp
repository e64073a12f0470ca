// ContextPin: keeps a handler and its context usable after the callback that got it.
#pragma once

#include <weft/pipeline/detail/channel_pin.hpp>

namespace weft {

// For code that answers later from a callback: a listener of a Future, a task of another thread pool. (A fiber of
// ctx.spawn() and ctx.schedule() need none.) While a pin exists, the context, its handler and the channel live on, also
// after the handler's removal and the end of the channel. Operations then do what they do on a closed channel: a write
// fails, its promise reports why.
// Move-only. Context: construct it on the channel's loop, in a callback of the handler or in a fiber of ctx.spawn();
// use and destroy it on any thread. Does not block, allocate or throw.
class ContextPin {
  public:
    explicit ContextPin(ChannelHandlerContext& ctx) noexcept : pin_(ctx.channel()), context_(&ctx) {}
    ContextPin(ContextPin&&) noexcept = default;
    ContextPin& operator=(ContextPin&&) = delete;

    // Not after a move from this pin.
    ChannelHandlerContext& context() const noexcept { return *context_; }
    ChannelHandlerContext& operator*() const noexcept { return *context_; }
    ChannelHandlerContext* operator->() const noexcept { return context_; }

  private:
    detail::ChannelPin pin_;
    ChannelHandlerContext* context_;
};

}  // namespace weft
