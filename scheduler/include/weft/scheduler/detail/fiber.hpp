// Fiber: the control block of a stackful task. It lies at the top of the fiber's own stack together with the closure
// and the result, so a fiber needs one allocation (docs/adr/0001).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/detail/fiber_context.hpp>
#include <weft/scheduler/detail/interrupt_mask.hpp>
#include <weft/scheduler/detail/least.hpp>
#include <weft/scheduler/detail/prefetch.hpp>
#include <weft/scheduler/detail/wait_scopes.hpp>
#include <weft/scheduler/spawn_options.hpp>
#include <weft/scheduler/stack_pool.hpp>
#include <weft/scheduler/task.hpp>

namespace weft {
class Carrier;
}

namespace weft::detail {

class ScopeChildren;

// Why a fiber switched back to its carrier, which determines what the carrier does with it once its context is saved.
// goingHome: the carrier is not the fiber's home. settled: nothing, since the fiber has made itself runnable or has
// committed its wait. completed: releases it.
enum class SwitchReason : std::uint8_t { yielded, goingHome, parking, ended, settled, completed };

struct Fiber;

// What depends on the type of a fiber's closure.
struct FiberOperations {
    void (*run)(Fiber&) noexcept;      // calls the closure, keeps the result, destroys the closure
    void (*destroy)(Fiber&) noexcept;  // destroys the frame, not the stack
    void (*dropResult)(Fiber&) noexcept;
    const std::type_info* closure;  // for the fiber dump; null without RTTI
};

struct Fiber : FiberContext, Task {
    static constexpr std::size_t nameLimit = 32;

    Fiber(Carrier& home, const Stack& stack, const SpawnOptions& options, bool joinable) noexcept;

    // True if a cancellation has been requested, of the fiber or by one of its CancelScopes, and neither a shield nor
    // an uninterruptible wait defers it.
    bool cancellationDue() const noexcept { return state.isInterruptRequested() && !interrupts.holdsOffCancellation(); }

    // Prefetches this block and the closure behind it.
    [[gnu::always_inline]] void prefetch() const noexcept { prefetchLines(this, 9); }
    // Reads the block, and prefetches the frames: of a fiber that has begun those of its calls and some of the calls to
    // come, otherwise those of its first calls.
    [[gnu::always_inline]] void prefetchFrames() const noexcept {
        constexpr std::size_t mostLines = 48, toCome = 256, first = 1024;
        const auto* const bottom = static_cast<const std::byte*>(stackPointer) - (hasBegun() ? toCome : first);
        const auto bytes = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(this) - bottom);
        prefetchLines(bottom, least(bytes / 64, mostLines));
    }
    bool hasBegun() const noexcept { return running.load(std::memory_order_relaxed) != nullptr; }

    // A wait and a wake use the members up to `scopes`, which fill the third cache line.
    Carrier* const homeCarrier;
    // The carrier that runs the fiber or ran it last; null: it has not begun, or it continues in a forked process.
    // relaxed: read by the thread that runs it, by the thread that has claimed its wake, and by its home for the log.
    std::atomic<Carrier*> running{nullptr};
    ParkToken::Epoch parkEpoch = 0;  // of the wait that is to be committed
    TimePoint runBeforeWait;  // when the run of fibers began in which the current or last wait did, for the fiber dump
    // The current or last blocking call, for the log. relaxed: the text is a constant.
    std::atomic<const char*> lastCall{nullptr};
    SwitchReason switchReason = SwitchReason::yielded;
    Stealable stealable;
    bool isPoller = false;
    bool resumesAnywhere = true;  // the fiber allows another carrier to run its next slice
    InterruptMask interrupts;     // number of live CancellationShields; whether a wait is uninterruptible
    WaitScopes scopes;            // the scopes that it is in

    std::uint16_t keptHome = 0;  // number of live NonMigratingScopes
    Stack stack;
    std::uint64_t id;  // from its submission on
    const FiberOperations* operations = nullptr;
    Fiber* previousLive = nullptr;  // the home carrier's list of its fibers (LiveList)
    Fiber* nextLive = nullptr;
    WakeKey joiner;  // written by the join handle's owner before setJoinWaiter() or joinedAtHome
    std::atomic<bool> joinerNotified{false};  // the completer will not use `joiner` any more [J4]
    bool joinedAtHome = false;   // `joiner` waits on the carrier on which this fiber will end; used by its thread [J5]
    bool completesLate = false;  // retireFiber() marks the fiber complete [J5]
    bool dropsNothing = false;   // the result has no destructor to run, and there is no error
    ScopeChildren* scope = nullptr;  // the children of its TaskScope, if any, which owns the next three members
    Fiber* previousSibling;
    Fiber* nextSibling;
    Fiber* nextCancelled;
    char nameBytes[nameLimit];  // zero-terminated; empty: no name was given

  private:
    void keepName(std::string_view name) noexcept;
};

// A fiber's name as given, or "fiber-<id>"; never allocates.
class FiberName {
  public:
    explicit FiberName(const Fiber& fiber) noexcept;
    operator std::string_view() const noexcept { return {bytes_, length_}; }

  private:
    char bytes_[Fiber::nameLimit];
    std::size_t length_;
};

// The address of a frame of `size` bytes at the top of a stack, aligned to a cache line or to `alignment`, whichever is
// larger. Neighbouring stacks use different offsets in the page; with equal offsets the first frames of all fibers
// would compete for the same few sets of the cache. The offset is at most 15/2048 of the stack.
inline void* placeOnStack(const Stack& stack, std::size_t size, std::size_t alignment) noexcept {
    const auto top = reinterpret_cast<std::uintptr_t>(stack.top());
    const std::size_t step = least<std::size_t>(128, stack.size / 2048);
    const std::size_t colour = top * 0x9e3779b97f4a7c15 >> 60;  // the top bits of a product spread well
    const std::uintptr_t mask = greatest<std::size_t>(64, alignment) - 1;
    return reinterpret_cast<void*>((top - colour * step - size) & ~mask);
}

// The FiberEntry of every fiber.
[[noreturn]] void fiberMain(FiberContext* from, FiberContext* self) noexcept;
// The fiber has ended: destroys the result or leaves it to the join handle, wakes the joiner. Context: the carrier on
// which the fiber ended, which still holds the run's reference.
void completeFiber(Fiber& fiber) noexcept;
// Then releases the run's reference, when no code runs on the fiber's stack any more. A fiber at home: its carrier runs
// no other fiber between the two.
void retireFiber(Fiber& fiber) noexcept;
// Releases one reference; frees the fiber if it was the last.
void releaseFiber(Fiber& fiber) noexcept;
// Releases the reference of a handle that does not take the result.
void detachFiber(Fiber& fiber) noexcept;
// Destroys the frame and gives the stack back. Context: the thread that released the last reference.
void freeFiber(Fiber& fiber) noexcept;
// Requests that the fiber end: ends its current wait and every later one. Context: any thread that keeps the fiber
// alive.
void cancelFiber(Fiber& fiber) noexcept;
// Logs an exception of a fiber that nothing will join.
void reportUnobserved(const Fiber& fiber, std::exception_ptr error) noexcept;

struct NoResult {};

// A fiber with a place for its result: the type that JoinHandle<T> uses.
template <class T>
struct ResultFiber : Fiber {
    using Fiber::Fiber;

    T takeResult() {
        if (error) std::rethrow_exception(std::exchange(error, nullptr));
        if constexpr (!std::is_void_v<T>) return std::move(*result);
    }
    void drop() noexcept {
        if (error) reportUnobserved(*this, std::exchange(error, nullptr));
        result.reset();
    }

    std::optional<std::conditional_t<std::is_void_v<T>, NoResult, T>> result;
    std::exception_ptr error;
};

// A fiber with its result and its closure.
template <class F>
struct FiberFrame final : ResultFiber<std::invoke_result_t<F&>> {
    using Result = std::invoke_result_t<F&>;

    template <class G>
    FiberFrame(Carrier& home, const Stack& stack, const SpawnOptions& options, bool joinable, G&& function)
        : ResultFiber<Result>(home, stack, options, joinable), function_(std::in_place, std::forward<G>(function)) {
        this->operations = &ofFrame;
    }

    F& function() noexcept { return *function_; }  // valid until it has run

  private:
    static void destroyFrame(Fiber& self) noexcept { static_cast<FiberFrame&>(self).~FiberFrame(); }
    static void dropFrameResult(Fiber& self) noexcept { static_cast<FiberFrame&>(self).drop(); }
    static void runFrame(Fiber& self) noexcept {
        auto& frame = static_cast<FiberFrame&>(self);
        try {
            if constexpr (std::is_void_v<Result>) {
                std::invoke(*frame.function_);
            } else {
                frame.result.emplace(std::invoke(*frame.function_));
            }
            self.dropsNothing = std::is_void_v<Result> || std::is_trivially_destructible_v<Result>;
        } catch (...) {
            frame.error = std::current_exception();
        }
        frame.function_.reset();
    }

#ifdef __cpp_rtti
    static constexpr const std::type_info* closureType = &typeid(F);
#else
    static constexpr const std::type_info* closureType = nullptr;
#endif
    static constexpr FiberOperations ofFrame{&runFrame, &destroyFrame, &dropFrameResult, closureType};

    std::optional<F> function_;
};

}  // namespace weft::detail
