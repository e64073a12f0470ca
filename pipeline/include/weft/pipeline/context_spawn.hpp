// ctx.spawn(): starts a fiber on a channel's carrier. Apart from the context because it brings in the carrier's
// headers.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/fiber_set.hpp>

namespace weft {

template <class F>
void ChannelHandlerContext::spawn(F&& fn, SpawnOptions options) {
    Carrier* carrier = loop().carrier();
    if (!carrier)
        throw std::logic_error("ChannelHandlerContext::spawn(): an embedded loop has no carrier to run fibers");
    carrier->spawnDetached(
        [pin = detail::ChannelPin(channel_), body = std::decay_t<F>(std::forward<F>(fn))]() mutable {
            const FiberSet::Member member(pin.channel().fibers());
            body();
        },
        options);
}

}  // namespace weft
