// Message: any movable value on its way through a pipeline; move-only, small values inside, no RTTI.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/detail/message_type.hpp>
#include <weft/pipeline/detail/message_watch.hpp>
#include <weft/scheduler/assert.hpp>

namespace weft {

// A Message can be made of an rvalue of any movable type.
template <class T>
concept MessageValue = std::is_rvalue_reference_v<T> && !std::is_same_v<std::remove_cvref_t<T>, Message> &&
                       std::is_move_constructible_v<std::remove_cvref_t<T>>;

template <class T>
concept LendableValue = MessageValue<T> && !std::is_const_v<std::remove_reference_t<T>>;

// Holds one value of any movable type, or nothing. Values of up to 40 bytes that move without throwing are stored
// inside. Larger ones are stored in a block from the thread's free list (steady state: no malloc), and lent ones stay
// with their lender. Types are compared exactly: a Message that holds a Derived does not hold a Base. Context: one
// thread at a time; may be moved to another. Throws what T's construction throws. Debug builds report a handler that
// lets a message die without asking for its type, passing it on or calling reset(): leak_detection.hpp.
class Message {
  public:
    Message() noexcept = default;
    Message(Buffer&& buffer) noexcept : type_(&detail::messageTypeOf<Buffer>) {
        ::new (static_cast<void*>(storage_)) Buffer(std::move(buffer));
    }
    template <class T>
    requires MessageValue<T&&> Message(T&& value) { construct<std::remove_cvref_t<T>>(std::forward<T>(value)); }
    template <class T, class... Args>
    static Message of(Args&&... args) {
        Message message;
        message.construct<T>(std::forward<Args>(args)...);
        return message;
    }
    // A Message for `value` that leaves a large value where it is, for calls whose receiver mostly uses it at once.
    // Moving the Message moves the value into a block; references from get() then refer to the moved-from value. The
    // move is noexcept, so it terminates the program when there is no memory for the block: call keep() before.
    // Lifetime: `value` must outlive the Message; afterwards it may only be destroyed or assigned to.
    template <class T>
    static Message lend(T& value) {
        static_assert(!std::is_const_v<T>);
        if constexpr (detail::messageInline<T>) {
            return Message(std::move(value));
        } else {
            return Message(detail::MessagePlace<T>{&value, true});
        }
    }

    // Moves a lent value into this Message. Throws std::bad_alloc and what the value's move throws, and then changes
    // nothing.
    void keep() {
        if (type_ && type_->keep) type_->keep(storage_);
    }

    Message(Message&& other) noexcept { takeFrom(other); }
    Message& operator=(Message&& other) noexcept {
        if (this != &other) {
            release();
            takeFrom(other);
        }
        return *this;
    }
    ~Message() { release(); }

    template <class T>
    bool is() const noexcept {
        const bool same = type_ == &detail::messageTypeOf<T>;
        if constexpr (detail::leakDetectionBuilt) {
            if (same) detail::messageUsed(*this);
        }
        return same;
    }
    // The value. Precondition, checked by an assertion: the type is exactly T.
    template <class T>
    T& get() noexcept {
        const bool same = is<T>();
        WEFT_ASSERT(same, "Message::get<T>() called for another type");
        return *objectAs<T>();
    }
    template <class T>
    const T& get() const noexcept {
        return const_cast<Message*>(this)->get<T>();
    }
    // The value, or null when the type is not exactly T.
    template <class T>
    T* getIf() noexcept {
        return is<T>() ? objectAs<T>() : nullptr;
    }
    // Moves the value out and leaves this empty; the type must be exactly T.
    template <class T>
    T take() {
        T& object = get<T>();
        T value(std::move(object));
        if constexpr (detail::leakDetectionBuilt) detail::messageEnded(*this);
        type_ = nullptr;
        if constexpr (detail::messageInline<T>) {  // here, because reset() does not know the type
            object.~T();  // NOLINT(bugprone-use-after-move): a moved-from object is destroyed, too
        } else {
            detail::MessagePlace<T>::of(storage_).destroy();
        }
        return value;
    }

    bool empty() const noexcept { return type_ == nullptr; }
    explicit operator bool() const noexcept { return type_ != nullptr; }
    std::string_view typeName() const noexcept { return type_ ? type_->name : std::string_view("(empty)"); }

    // What the value counts in a channel's write buffer: the readable bytes of a Buffer, 8 for anything else.
    std::size_t estimatedBytes() const noexcept {
        if (type_ != &detail::messageTypeOf<Buffer>) return 8;  // not is(), which would mark the message as seen
        return const_cast<Message*>(this)->objectAs<Buffer>()->readableBytes();
    }

    // Releases the value and constructs a T in its place, from arguments that must not refer to the released value. For
    // handlers that turn the message they received into the one they pass on. Throws what T's construction throws, and
    // is then empty.
    template <class T, class... Args>
    void emplace(Args&&... args) {
        reset();
        construct<T>(std::forward<Args>(args)...);
    }

    // Releases the value. A handler calls it for a message that is meant to end there.
    void reset() noexcept {
        if constexpr (detail::leakDetectionBuilt) detail::messageUsed(*this);
        release();
    }

  private:
    template <class T>
    explicit Message(detail::MessagePlace<T> place) noexcept : type_(&detail::messageTypeOf<T>) {
        ::new (static_cast<void*>(storage_)) detail::MessagePlace<T>(place);
    }
    void release() noexcept {
        if (!type_) return;
        if constexpr (detail::leakDetectionBuilt) detail::messageEnded(*this);
        const detail::MessageType* type = std::exchange(type_, nullptr);
        if (type->destroy) type->destroy(storage_);
    }
    template <class T, class... Args>
    void construct(Args&&... args) {
        if constexpr (detail::messageInline<T>) {
            ::new (static_cast<void*>(storage_)) T(std::forward<Args>(args)...);
        } else {
            using Place = detail::MessagePlace<T>;
            ::new (static_cast<void*>(storage_)) Place{Place::make(std::forward<Args>(args)...), false};
        }
        type_ = &detail::messageTypeOf<T>;
    }
    template <class T>
    T* objectAs() noexcept {
        if constexpr (detail::messageInline<T>) {
            return std::launder(reinterpret_cast<T*>(storage_));
        } else {
            return detail::MessagePlace<T>::of(storage_).object;
        }
    }
    void takeFrom(Message& other) noexcept {
        type_ = std::exchange(other.type_, nullptr);
        if (!type_) return;
        if constexpr (detail::leakDetectionBuilt) detail::messageMoved(other, *this);
        if (type_->relocate) {
            type_->relocate(other.storage_, storage_);
        } else {
            std::memcpy(storage_, other.storage_, sizeof storage_);
        }
    }

    const detail::MessageType* type_ = nullptr;
    alignas(void*) std::byte storage_[detail::messageInlineBytes];
};

static_assert(sizeof(Message) == 48, "a Message travels by value through every handler: keep it within a cache line");

}  // namespace weft
