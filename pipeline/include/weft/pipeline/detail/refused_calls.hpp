// Compile errors for calls that Netty users would try: one line that names the right call, instead of a page of
// overload candidates.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

namespace weft {

class ChannelHandler;
class Message;

namespace detail {

// What write() and writeAndFlush() cannot take: an lvalue, or anything else that does not convert to a Message.
template <class T>
concept RefusedMessage = !std::is_convertible_v<T, Message>;

// The result of a refused call. The calls that Netty users chain to a future cause no further compile errors.
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
                  "Weft: write() takes its message by move and returns no future: call ctx.write(std::move(message)). "
                  "To get the outcome, call ctx.writeFuture(std::move(message)).addListener(...), which also flushes. "
                  "To write text, call ctx.write(Buffer::copyOf(text))");
    static_assert(std::is_lvalue_reference_v<T>,
                  "Weft: a Message cannot hold this: a message is a non-const value of a movable type, passed with "
                  "std::move()");
}

// Reports an argument that addLast() and its variants cannot take: neither a std::unique_ptr<H> or std::shared_ptr<H>
// nor a callable void(Channel&).
template <class T>
[[noreturn]] void refuseHandler() {
    using H = std::remove_cvref_t<T>;
    constexpr bool pointer = std::is_pointer_v<H>;
    constexpr bool handler = std::is_base_of_v<ChannelHandler, H>;
    static_assert(!pointer, "Weft: a pipeline owns its handlers. Instead of addLast(new H(args...)), call "
                            "pipeline.addLast<H>(args...) or pipeline.addLast(std::make_unique<H>(args...))");
    static_assert(pointer || !handler,
                  "Weft: a handler is constructed in place in the pipeline. Instead of addLast(H(args...)), call "
                  "pipeline.addLast<H>(args...) or pipeline.addLast(std::make_unique<H>(args...))");
    static_assert(pointer || handler,
                  "Weft: addLast() takes std::unique_ptr<H>, std::shared_ptr<H> of a sharable H, or a callable "
                  "void(Channel&). To add a handler of type H, call pipeline.addLast<H>(args...)");
}

}  // namespace detail
}  // namespace weft
