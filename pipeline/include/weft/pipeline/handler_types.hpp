// Declarations of the message types that a handler takes and fires. They let a channel report, when it is registered,
// a pipeline that cannot work.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <weft/pipeline/message.hpp>

namespace weft {

// A list of message types. A handler may declare either, both or none of these:
//   using InboundIn = Messages<Buffer>;        its channelRead() takes these and passes on all other types
//   using InboundOut = Messages<std::string>;  it fires these and no other types of its own; Messages<>: none
// Only declarations are checked: a handler that overrides channelRead() without InboundOut may fire anything.
// When a channel is registered with a handler for types that no handler before it fires, it logs a warning that names
// the handler and the types that do arrive: once for each pair of that handler's type and the last firing one's.
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

// What a pipeline knows about the type of a handler. The address of this object is the type's tag.
struct HandlerType {
    std::string_view name;  // without namespaces and template arguments
    DeclaredTypes in;
    DeclaredTypes out;
};

// "ns::Codec<int>" -> "Codec".
constexpr std::string_view simpleName(std::string_view name) noexcept {
    name = name.substr(0, name.find('<'));
    const std::size_t colon = name.rfind(':');
    return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

template <class H>
constexpr HandlerType handlerTypeOf() noexcept {
    HandlerType types{simpleName(nameOf<H>()), {}, {}};
    if constexpr (requires { typename H::InboundIn; }) types.in = declaredTypes(typename H::InboundIn());
    if constexpr (requires { typename H::InboundOut; }) types.out = declaredTypes(typename H::InboundOut());
    return types;
}

}  // namespace detail
}  // namespace weft
