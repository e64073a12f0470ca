// sync::OnceCell: a value that the first caller computes, while the others wait for it.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_once.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::sync {

// Once there is a value, reading it takes one load.
template <class T>
class OnceCell {
  public:
    OnceCell() noexcept {}
    // No fiber or thread may use the cell.
    ~OnceCell() {
        if (once_.isDone()) value_.~T();
    }
    OnceCell(const OnceCell&) = delete;
    OnceCell& operator=(const OnceCell&) = delete;

    // The value, or null while there is none. Never blocks. Any thread.
    T* get() noexcept { return once_.isDone() ? &value_ : nullptr; }
    const T* get() const noexcept { return once_.isDone() ? &value_ : nullptr; }

    // Returns the value; if there is none, calls `init()` and keeps its result. One caller initialises at a time, and
    // may block in init(); the others wait. If init() throws, or is cancelled and throws therefore, its caller gets the
    // exception, and the next waiter initialises. init() must not use this cell.
    // If the fiber is cancelled during the wait or its carrier shuts down, throws SystemError(operation_aborted).
    // Context: a fiber or a plain thread. Where nothing may block, returns the value or calls init(), and throws
    // BlockingOperationException while another caller initialises.
    template <class Init>
    T& getOrInit(Init&& init) {
        if (!once_.isDone()) [[unlikely]]
            initialize(std::forward<Init>(init));
        return value_;
    }
    // The same, but if the wait for another caller's initialisation is cancelled, returns null and sets `error`.
    template <class Init>
    T* getOrInit(ErrorCode& error, Init&& init) {
        return getOrInitOr(never, error, std::forward<Init>(init), "sync::OnceCell::getOrInit");
    }
    // The same with a deadline of that wait, at which it returns null (and `error` is timed_out). It does not limit
    // init(): for that, use a DeadlineScope.
    template <class Init>
    T* getOrInitUntil(Deadline deadline, ErrorCode& error, Init&& init) {
        return getOrInitOr(deadline, error, std::forward<Init>(init), "sync::OnceCell::getOrInitUntil");
    }

    // Stores a value if there is none and no caller initialises; else returns false and leaves the arguments unchanged.
    // If the constructor throws, the cell remains empty. Never blocks. Any thread.
    template <class... Args>
    bool tryEmplace(Args&&... args) {
        detail::OnceState found;
        if (!once_.tryBegin(found)) return false;
        store([&]() -> T { return T(std::forward<Args>(args)...); });
        return true;
    }

    bool isInitialized() const noexcept { return once_.isDone(); }
    // May be outdated when it returns. Any thread.
    std::size_t waiters() const noexcept { return once_.waiters(); }

  private:
    template <class Init>
    T* getOrInitOr(Deadline deadline, ErrorCode& error, Init&& init, const char* call) {
        error = {};
        bool begun = false;
        if (!once_.isDone()) error = once_.begin(begun, deadline, call);
        if (begun) store(std::forward<Init>(init));
        return error ? nullptr : &value_;
    }
    template <class Init>
    [[gnu::noinline]] void initialize(Init&& init) {
        constexpr const char* call = "sync::OnceCell::getOrInit";
        bool begun;
        detail::throwOnError(once_.begin(begun, never, call), call);
        if (begun) store(std::forward<Init>(init));
    }
    template <class Init>
    void store(Init&& init) {
        struct Finish {
            ~Finish() { once.finish(done); }
            detail::BasicOnce<detail::NativeSync>& once;
            bool done = false;
        } finish{once_};
        ::new (static_cast<void*>(&value_)) T(std::invoke(init));
        finish.done = true;
    }
    detail::BasicOnce<detail::NativeSync> once_;
    union {
        T value_;  // alive once once_.isDone()
    };
};

}  // namespace weft::sync
