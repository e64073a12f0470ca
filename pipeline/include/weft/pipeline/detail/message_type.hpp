// MessageType: what a Message knows about the type of its value, and where the value lies.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>

namespace weft::detail {

// The name the compiler gives T; for diagnostics only.
template <class T>
constexpr std::string_view nameOf() noexcept {
    std::string_view text = __PRETTY_FUNCTION__;
    const std::size_t from = text.find("T = ") + 4;
    return text.substr(from, text.find_first_of(";]", from) - from);
}

// What a Message knows about the type it holds. The address of this object is the type's tag.
struct MessageType {
    void (*relocate)(void* from, void* to) noexcept;  // null: the bytes may be copied
    void (*destroy)(void* storage) noexcept;          // null: nothing to do
    void (*keep)(void* storage);                      // null: the Message owns the value already
    std::string_view name;
};

inline constexpr std::size_t messageInlineBytes = 40;

template <class T>
inline constexpr bool messageInline = sizeof(T) <= messageInlineBytes &&
                                      alignof(T) <= alignof(void*) && std::is_nothrow_move_constructible_v<T>;

// A type may declare `static constexpr bool movesByBytes = true;` when nothing points back at its objects: then copying
// the bytes moves the object, and the source is not destroyed. A Buffer, four pointers, is such a type.
template <class T>
concept DeclaresMovesByBytes = requires {
    requires T::movesByBytes;
};
template <class T>
inline constexpr bool messageMovesByBytes = std::is_same_v<T, Buffer> || DeclaresMovesByBytes<T> ||
                                            (std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

// A large value lies in a block of its own or, when lent, where its lender keeps it.
template <class T>
struct MessagePlace {
    static_assert(alignof(T) <= 16, "Weft: messages are aligned to at most 16 bytes");

    T* object;
    bool lent;

    static MessagePlace of(void* storage) noexcept { return *std::launder(static_cast<MessagePlace*>(storage)); }
    template <class... Args>
    static T* make(Args&&... args) {
        void* block = ThreadCache::allocate(sizeof(T));
        try {
            return ::new (block) T(std::forward<Args>(args)...);
        } catch (...) {
            ThreadCache::release(block, sizeof(T));
            throw;
        }
    }
    static void keep(void* storage) {
        MessagePlace& place = *std::launder(static_cast<MessagePlace*>(storage));
        if (place.lent) place = {make(std::move(*place.object)), false};
    }
    // Does nothing to a lent value: its lender destroys it.
    void destroy() const noexcept {
        if (lent) return;
        object->~T();
        ThreadCache::release(object, sizeof(T));
    }
};

template <class T>
constexpr MessageType makeType() noexcept {
    if constexpr (messageInline<T>) {
        return {messageMovesByBytes<T> ? nullptr
                                       : +[](void* from, void* to) noexcept {
                                             T* source = std::launder(static_cast<T*>(from));
                                             ::new (to) T(std::move(*source));
                                             source->~T();
                                         },
                std::is_trivially_destructible_v<T>
                    ? nullptr
                    : +[](void* storage) noexcept { std::launder(static_cast<T*>(storage))->~T(); },
                nullptr, nameOf<T>()};
    } else {
        using Place = MessagePlace<T>;
        return {[](void* from, void* to) noexcept {
                    const Place place = Place::of(from);
                    ::new (to) Place{place.lent ? Place::make(std::move(*place.object)) : place.object, false};
                },
                [](void* storage) noexcept { Place::of(storage).destroy(); }, Place::keep, nameOf<T>()};
    }
}

template <class T>
inline constexpr MessageType messageTypeOf = makeType<T>();

}  // namespace weft::detail
