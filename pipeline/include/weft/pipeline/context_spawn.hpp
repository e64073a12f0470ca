// ctx.spawn(): starts a fiber on a channel's carrier. Not in the context's header, because it includes the carrier's.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/scheduler/carrier.hpp>

namespace weft {

namespace detail {
// Logs the exception that ended a fiber of ctx.spawn(), with its channel, peer and handler. Level error; debug when
// the exception reports the end of a connection and the fiber was cancelled, its channel is closed, or its loop is
// stopping. Context: the fiber.
void logSpawnedFiber(const ChannelHandlerContext& spawner, const std::exception_ptr& error) noexcept;

// The carrier of a context's loop. Throws std::logic_error if there is none.
Carrier& carrierOf(ChannelHandlerContext& context, const char* call);
}  // namespace detail

template <class F>
void ChannelHandlerContext::spawn(F&& fn, SpawnOptions options) {
    detail::carrierOf(*this, "spawn")
        .spawnMember(
            channel_.fibers(),
            [pin = detail::ChannelPin(channel_), self = this, body = std::decay_t<F>(std::forward<F>(fn))]() mutable {
                try {
                    body();
                } catch (...) {
                    detail::logSpawnedFiber(*self, std::current_exception());
                }
            },
            options);
}

template <class F>
auto ChannelHandlerContext::spawnJoinable(F&& fn, SpawnOptions options)
    -> JoinHandle<std::invoke_result_t<std::decay_t<F>&>> {
    return detail::carrierOf(*this, "spawnJoinable")
        .spawnJoinableMember(
            channel_.fibers(),
            [pin = detail::ChannelPin(channel_),
             body = std::decay_t<F>(std::forward<F>(fn))]() mutable -> decltype(auto) { return body(); },
            options);
}

}  // namespace weft
