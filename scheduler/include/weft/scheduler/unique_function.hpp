// UniqueFunction: a move-only callable wrapper with a small inline buffer, as C++23's std::move_only_function.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weft {

template <class Signature, std::size_t InlineSize = 48>
class UniqueFunction;

// Holds any callable R(Args...), including move-only ones. A callable of at most InlineSize bytes with a noexcept move
// that is aligned like a pointer or less is stored inside; any other is allocated. Calling an empty one is undefined
// behaviour. Not thread-safe.
template <class R, class... Args, std::size_t InlineSize>
class UniqueFunction<R(Args...), InlineSize> {
  public:
    UniqueFunction() noexcept = default;
    UniqueFunction(std::nullptr_t) noexcept {}

    template <class F, class D = std::decay_t<F>>
    requires(!std::is_same_v<D, UniqueFunction> && std::is_invocable_r_v<R, D&, Args...>) UniqueFunction(F&& function) {
        if constexpr (fitsInline<D>) {
            ::new (static_cast<void*>(storage_)) D(std::forward<F>(function));
            operations_ = &inlineOperations<D>;
        } else {
            ::new (static_cast<void*>(storage_)) D*(new D(std::forward<F>(function)));
            operations_ = &heapOperations<D>;
        }
    }

    UniqueFunction(UniqueFunction&& other) noexcept { takeFrom(other); }
    UniqueFunction& operator=(UniqueFunction&& other) noexcept {
        if (this != &other) {
            reset();
            takeFrom(other);
        }
        return *this;
    }
    ~UniqueFunction() { reset(); }

    explicit operator bool() const noexcept { return operations_ != nullptr; }

    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an empty function must not be called
    R operator()(Args... args) { return operations_->invoke(storage_, std::forward<Args>(args)...); }

    void reset() noexcept {
        if (operations_) std::exchange(operations_, nullptr)->destroy(storage_);
    }

  private:
    struct Operations {
        R (*invoke)(void*, Args&&...);
        void (*relocate)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };

    template <class D>
    static constexpr bool fitsInline = sizeof(D) <= InlineSize &&
                                       alignof(D) <= alignof(void*) && std::is_nothrow_move_constructible_v<D>;

    template <class D>
    static constexpr Operations inlineOperations{
        [](void* at, Args&&... args) -> R {
            return static_cast<R>((*std::launder(static_cast<D*>(at)))(std::forward<Args>(args)...));
        },
        [](void* from, void* to) noexcept {
            D* source = std::launder(static_cast<D*>(from));
            ::new (to) D(std::move(*source));
            source->~D();
        },
        [](void* at) noexcept { std::launder(static_cast<D*>(at))->~D(); }};

    template <class D>
    static constexpr Operations heapOperations{
        [](void* at, Args&&... args) -> R {
            return static_cast<R>((**std::launder(static_cast<D**>(at)))(std::forward<Args>(args)...));
        },
        [](void* from, void* to) noexcept { ::new (to) D*(*std::launder(static_cast<D**>(from))); },
        [](void* at) noexcept { delete *std::launder(static_cast<D**>(at)); }};

    void takeFrom(UniqueFunction& other) noexcept {
        if (!other.operations_) return;
        operations_ = std::exchange(other.operations_, nullptr);
        operations_->relocate(other.storage_, storage_);
    }

    const Operations* operations_ = nullptr;
    alignas(void*) std::byte storage_[InlineSize < sizeof(void*) ? sizeof(void*) : InlineSize];
};

}  // namespace weft
