// EventMask: the events that a handler type handles, computed from the type when the handler is added. Contexts of
// handlers that would only forward an event are skipped. (P-3)
#pragma once

#include <cstdint>
#include <type_traits>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>

namespace weft::detail {

using EventMask = std::uint32_t;

struct Event {
    enum : EventMask {
        registered = 1u << 0,
        unregistered = 1u << 1,
        active = 1u << 2,
        inactive = 1u << 3,
        read = 1u << 4,
        readComplete = 1u << 5,
        userEvent = 1u << 6,
        writabilityChanged = 1u << 7,
        inbound = (1u << 8) - 1,
        bind = 1u << 8,
        connect = 1u << 9,
        disconnect = 1u << 10,
        close = 1u << 11,
        deregister = 1u << 12,
        readRequest = 1u << 13,
        write = 1u << 14,
        flush = 1u << 15,
        outbound = ((1u << 16) - 1) & ~inbound,
        exception = 1u << 16,
        readCycle = readComplete | readRequest,
        all = (1u << 17) - 1,
        ofUnknownType = 1u << 17,  // not an event: the handler is more than the type that it was added as
    };
};

// The type of &H::method names the class that declares the method: ChannelHandler when it is not overridden. A method
// that cannot be named from here (private or overloaded) has been declared again, so it counts as overridden.
#define WEFT_EVENT_OF(method, bit)                                                                   \
    if constexpr (requires { &H::method; }) {                                                        \
        if (!std::is_same_v<decltype(&H::method), decltype(&ChannelHandler::method)>) mask |= (bit); \
    } else {                                                                                         \
        mask |= (bit);                                                                               \
    }

template <class H>
constexpr EventMask overriddenEvents() noexcept {
    static_assert(std::is_base_of_v<ChannelHandler, H>, "Weft: a handler must derive from weft::ChannelHandler");
    EventMask mask = 0;
    WEFT_EVENT_OF(channelRegistered, Event::registered)
    WEFT_EVENT_OF(channelUnregistered, Event::unregistered)
    WEFT_EVENT_OF(channelActive, Event::active)
    WEFT_EVENT_OF(channelInactive, Event::inactive)
    WEFT_EVENT_OF(channelRead, Event::read)
    WEFT_EVENT_OF(channelReadComplete, Event::readComplete)
    WEFT_EVENT_OF(userEventTriggered, Event::userEvent)
    WEFT_EVENT_OF(channelWritabilityChanged, Event::writabilityChanged)
    WEFT_EVENT_OF(bind, Event::bind)
    WEFT_EVENT_OF(connect, Event::connect)
    WEFT_EVENT_OF(disconnect, Event::disconnect)
    WEFT_EVENT_OF(close, Event::close)
    WEFT_EVENT_OF(deregister, Event::deregister)
    WEFT_EVENT_OF(read, Event::readRequest)
    WEFT_EVENT_OF(write, Event::write)
    WEFT_EVENT_OF(flush, Event::flush)
    WEFT_EVENT_OF(exceptionCaught, Event::exception)
    return mask;
}

#undef WEFT_EVENT_OF

template <class H>
constexpr EventMask eventMaskOf() noexcept {
    constexpr EventMask mask = overriddenEvents<H>();
    static_assert(!std::is_base_of_v<ChannelInboundHandler, H> || (mask & Event::outbound) == 0,
                  "Weft: a ChannelInboundHandler overrides an outbound method; derive from ChannelDuplexHandler");
    static_assert(!std::is_base_of_v<ChannelOutboundHandler, H> || (mask & Event::inbound) == 0,
                  "Weft: a ChannelOutboundHandler overrides an inbound method; derive from ChannelDuplexHandler");
    return mask;
}

template <class H>
concept Sharable = requires {
    requires H::sharable;
};

// The address of handlerType<H> identifies the type H in look-ups by type.
template <class H>
inline constexpr HandlerType handlerType = handlerTypeOf<H>();

}  // namespace weft::detail
