// Calls that read like Netty's and do not compile here: one line that names the right call, instead of a page about
// overloads.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

namespace weft {

class ChannelHandler;
class Message;

namespace detail {

// What write() and writeAndFlush() cannot take: an lvalue, a pointer, anything that no Message can be made of.
template <class T>
concept RefusedMessage = !std::is_convertible_v<T, Message>;

// The result of a refused call: whatever is called on it is no further error.
struct NoFuture {
    template <class... Arguments>
    const NoFuture& addListener(Arguments&&...) const;
    template <class... Arguments>
    const NoFuture& await(Arguments&&...) const;
    template <class... Arguments>
    const NoFuture& sync(Arguments&&...) const;
};

template <class T>
[[noreturn]] void refuseMessage() {
    static_assert(!std::is_lvalue_reference_v<T>,
                  "Weft: write() takes its message by move and returns no future. ctx.write(std::move(message)), or to "
                  "hear of the outcome: ChannelPromise written = ctx.newPromise(); written.addListener(...); "
                  "ctx.write(std::move(message), written). Of a text: ctx.write(Buffer::copyOf(text))");
    static_assert(std::is_lvalue_reference_v<T>,
                  "Weft: no Message can be made of this: a message is a movable value, given by std::move()");
}

// What addLast() and its like cannot take: neither std::unique_ptr<H>, std::shared_ptr<H> nor a callable
// void(Channel&).
template <class T>
[[noreturn]] void refuseHandler() {
    using H = std::remove_cvref_t<T>;
    constexpr bool pointer = std::is_pointer_v<H>;
    constexpr bool handler = std::is_base_of_v<ChannelHandler, H>;
    static_assert(!pointer,
                  "Weft: a pipeline owns its handlers. Instead of addLast(new H(args...)): "
                  "pipeline.addLast<H>(args...), or pipeline.addLast(std::make_unique<H>(args...))");
    static_assert(pointer || !handler,
                  "Weft: a handler is made in its place in the pipeline. Instead of addLast(H(args...)): "
                  "pipeline.addLast<H>(args...), or pipeline.addLast(std::make_unique<H>(args...))");
    static_assert(pointer || handler,
                  "Weft: addLast() takes std::unique_ptr<H>, std::shared_ptr<H> of a sharable H, or a callable "
                  "void(Channel&); a handler type H is given as pipeline.addLast<H>(args...)");
}

}  // namespace detail
}  // namespace weft
