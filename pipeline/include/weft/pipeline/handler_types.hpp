// What a handler type says of the messages that it takes and gives, so that a pipeline which cannot work is reported
// when it has been put together.
#pragma once

#include <array>
#include <cstddef>

#include <weft/pipeline/message.hpp>

namespace weft {

// A list of message types. A handler may declare, and none of it is needed:
//   using InboundIn = Messages<Buffer>;        its channelRead() waits for these and passes any other type on
//   using InboundOut = Messages<std::string>;  it fires these, and nothing else of its own; Messages<>: nothing
// Only what is declared is checked: a handler that overrides channelRead() without InboundOut may fire anything.
// A channel that is registered with a handler which waits for what none before it gives logs a warning with both names,
// once for each such pair of types.
template <class... T>
struct Messages {};

namespace detail {

struct DeclaredTypes {
    const MessageType* const* first = nullptr;
    std::size_t size = 0;
    bool declared = false;
};

template <class... T>
inline constexpr std::array<const MessageType*, sizeof...(T)> messageTypes{&messageTypeOf<T>...};

template <class... T>
constexpr DeclaredTypes declaredTypes(Messages<T...>) noexcept {
    return {messageTypes<T...>.data(), sizeof...(T), true};
}

struct HandlerTypes {
    DeclaredTypes in;
    DeclaredTypes out;
};

template <class H>
constexpr HandlerTypes handlerTypesOf() noexcept {
    HandlerTypes types;
    if constexpr (requires { typename H::InboundIn; }) types.in = declaredTypes(typename H::InboundIn());
    if constexpr (requires { typename H::InboundOut; }) types.out = declaredTypes(typename H::InboundOut());
    return types;
}

}  // namespace detail
}  // namespace weft
