// Calls from one context to the next that the channel makes as well.
#pragma once

#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

#include "delivery.hpp"

namespace weft {

inline void ChannelHandlerContext::passRead(Message&& message) noexcept {
    ChannelHandlerContext& receiver = nextInbound(detail::Event::read);
    const detail::Delivery delivery(receiver, message, nullptr);
    try {
        receiver.handler_->channelRead(receiver, std::move(message));
    } catch (...) {
        receiver.inboundThrew();
    }
}

}  // namespace weft
