// The contexts that own a handler: made in place, by unique_ptr, or by shared_ptr.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_initializer.hpp>
#include <weft/pipeline/detail/event_mask.hpp>
#include <weft/pipeline/detail/refused_calls.hpp>

namespace weft {

// A name for addLast<H>(named("x"), args...).
struct HandlerName {
    std::string value;
};
inline HandlerName named(std::string name) {
    return {std::move(name)};
}

namespace detail {

// A context that is being added to a pipeline, and its requested name.
struct OwnedContext {
    std::unique_ptr<ChannelHandlerContext> context;
    std::string name;
};

template <class H>
class InPlaceContext final : public ChannelHandlerContext {
  public:
    template <class... Args>
    explicit InPlaceContext(Channel& channel, Args&&... args)
        : ChannelHandlerContext(channel, eventMaskOf<H>(), handlerType<H>), own_(std::forward<Args>(args)...) {
        setHandler(own_);
    }

  private:
    H own_;
};

// Pointer: std::unique_ptr<H> or std::shared_ptr<H>. The mask comes from H if the object is exactly an H; an object of
// a derived class gets every event.
template <class Pointer>
class HeldContext final : public ChannelHandlerContext {
    using H = typename Pointer::element_type;

  public:
    HeldContext(Channel& channel, Pointer object)
        : ChannelHandlerContext(channel, maskOf(*object), handlerType<H>), own_(std::move(object)) {
        setHandler(*own_);
    }

  private:
    static EventMask maskOf(const H& object) noexcept {
        if constexpr (std::is_final_v<H>) {
            return eventMaskOf<H>();
        } else {
            return typeid(object) == typeid(H) ? eventMaskOf<H>() : Event::all | Event::ofUnknownType;
        }
    }
    Pointer own_;
};

template <class T>
inline constexpr bool isHandlerPointer = false;
template <class H>
inline constexpr bool isHandlerPointer<std::unique_ptr<H>> = std::is_base_of_v<ChannelHandler, H>;
template <class H>
inline constexpr bool isHandlerPointer<std::shared_ptr<H>> = std::is_base_of_v<ChannelHandler, H>;

template <class F>
inline constexpr bool isInitializer = std::is_invocable_v<F&, Channel&>;

template <class T>
concept HandlerArgument = isHandlerPointer<std::decay_t<T>> || isInitializer<std::decay_t<T>>;

// A handler, or a wrong argument in its place, which holdHandler() refuses by a compile error; not a name.
template <class T>
concept GivenHandler = HandlerArgument<T> || !std::is_convertible_v<T, std::string>;

template <class H, class... Args>
OwnedContext makeContext(Channel& channel, Args&&... args) {
    return {std::make_unique<InPlaceContext<H>>(channel, std::forward<Args>(args)...), {}};
}
template <class H, class... Args>
OwnedContext makeContext(Channel& channel, HandlerName name, Args&&... args) {
    OwnedContext owned = makeContext<H>(channel, std::forward<Args>(args)...);
    owned.name = std::move(name.value);
    return owned;
}

template <class T>
OwnedContext holdHandler(Channel& channel, std::string name, T&& handler) {
    using D = std::decay_t<T>;
    if constexpr (!HandlerArgument<T>) {
        refuseHandler<T>();
    } else if constexpr (isHandlerPointer<D>) {
        using H = typename D::element_type;
        static_assert(std::is_same_v<D, std::unique_ptr<H>> || Sharable<H>,
                      "Weft: only a handler type with `static constexpr bool sharable = true` may be shared (H-1)");
        if (!handler) throw std::invalid_argument("Weft: a null handler cannot be added to a pipeline");
        return {std::make_unique<HeldContext<D>>(channel, D(std::forward<T>(handler))), std::move(name)};
    } else {
        return makeContext<CallableInitializer<D>>(channel, HandlerName{std::move(name)}, std::forward<T>(handler));
    }
}

}  // namespace detail
}  // namespace weft
