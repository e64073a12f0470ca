// Calls from one context to the next that several source files make.
#pragma once

#include <exception>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>

#include "delivery.hpp"
#include "enters_loop.hpp"
#include "pipeline_entry.hpp"

namespace weft {

namespace detail {

// Posts an operation from outside the loop as a task (TH-2). If the loop refuses it, calls refused(exception).
template <class F, class Refused>
[[gnu::cold, gnu::noinline]] void postOr(Channel& channel, F operation, Refused refused) {
    try {
        channel.loop().execute(
            [pin = ChannelPin(channel), operation = std::move(operation)]() mutable { operation(); });
    } catch (...) {
        refused(std::current_exception());
    }
}

// Fails the promise when the loop has ended.
template <class F>
void post(Channel& channel, const ChannelPromise& promise, F operation) {
    postOr(channel, std::move(operation), [&](std::exception_ptr cause) { promise.tryFailure(std::move(cause)); });
}

}  // namespace detail

inline void ChannelHandlerContext::passRead(Message&& message) noexcept {
    ChannelHandlerContext& receiver = nextInbound(detail::Event::read);
    const detail::Delivery delivery(receiver, message, nullptr);
    try {
        receiver.handler_->channelRead(receiver, std::move(message));
    } catch (...) {
        receiver.inboundThrew();
    }
}

// An exception that a handler throws from an outbound operation fails the promise (E-2).
template <class Call>
void ChannelHandlerContext::invokeOutbound(const ChannelPromise& promise, Call call) noexcept {
    try {
        call(*handler_, *this);
    } catch (...) {
        detail::Delivery::handlerThrew(*this);
        promise.tryFailure(std::current_exception());
    }
}

inline bool ChannelHandlerContext::entered() const noexcept {
    return detail::currentChannel() == &channel_;
}

// A call from inside the channel's pipeline is in an entry already, which costs one check. All other calls come here
// first; this opens an entry, or posts a task, and repeats the call.
template <class F>
[[gnu::noinline]] void ChannelHandlerContext::enter(const ChannelPromise& promise, F call) {
    if (!detail::entersLoop(channel_.loop())) return detail::post(channel_, promise, std::move(call));
    const detail::PipelineEntry entry(channel_);
    call();
}

}  // namespace weft
