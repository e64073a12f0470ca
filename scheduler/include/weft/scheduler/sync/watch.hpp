// sync::Watch: the latest value of something, such as a configuration, for any number of readers.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/basic_watch.hpp>
#include <weft/scheduler/detail/sync_policy.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft::detail {
template <class, class>
class ChangeBranch;  // of sync::select()
}

namespace weft::sync {

// Readers see the latest value; they may miss values in between. Any thread may call any member. Example:
//     sync::Watch<std::shared_ptr<const Settings>> settings(load());
//     sync::WatchReader reader(settings);                            // in another fiber
//     while (auto latest = reader.next()) apply(**latest);           // until settings.close()
// T: its copy and move constructors and its assignments are noexcept; they run with the cell's lock held, so they must
// be short, and neither use the cell nor wait. send() destroys the value that it replaces without the lock.
template <class T>
class Watch {
    static_assert(std::is_nothrow_copy_constructible_v<T> && std::is_nothrow_move_constructible_v<T> &&
                      std::is_nothrow_move_assignable_v<T>,
                  "a Watch copies its value under its lock: copies must be noexcept; if they are not, watch a "
                  "std::shared_ptr to a const value");

  public:
    explicit Watch(T initial) : core_(std::move(initial)) {}
    // No WatchReader may be left.
    ~Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Replaces the value and wakes the readers that wait. False: it is closed, and the value stays. Never blocks or
    // allocates.
    bool send(T value) {
        return core_.changeIf([&](T& current) {
            std::swap(current, value);  // the old value is destroyed without the lock
            return true;
        });
    }
    // Calls `change(T&)` with the lock held, which must be short and not use the cell; a blocking call in it throws
    // BlockingOperationException. Then as send(). If it throws, the value is as it left it, no reader is woken, and the
    // exception reaches the caller.
    template <class Change>
    bool modify(Change change) {
        return modifyIf([&](T& current) {
            change(current);
            return true;
        });
    }
    // The same, but no reader is woken unless `change(T&)` returns true.
    template <class Change>
    bool modifyIf(Change change) {
        return core_.changeIf([&](T& current) {
            const NonSuspendingScope locked;
            return static_cast<bool>(change(current));
        });
    }

    T get() const {
        typename Core::Version version;
        return core_.read(version);
    }

    // Ends the waits of all readers; they still get a value that they have not seen. Returns false if it was closed
    // before.
    bool close() noexcept { return core_.close(); }
    bool isClosed() const { return core_.isClosed(); }
    // Readers that wait. May be outdated when it returns.
    std::size_t waiters() const { return core_.waiters(); }

  private:
    template <class>
    friend class WatchReader;
    using Core = detail::BasicWatch<detail::NativeSync, T>;

    Core core_;
};

// A reader, which knows the last value that it has seen. Used by one fiber or thread at a time. The Watch must outlive
// it.
template <class T>
class WatchReader {
  public:
    // Has seen the current value.
    explicit WatchReader(Watch<T>& watch) : core_(&watch.core_), seen_(watch.core_.version()) {}

    // Waits until there is a value that this reader has not seen, and returns the latest. No value: the Watch is
    // closed. If the fiber is cancelled during the wait or its carrier shuts down, the throwing overload throws
    // SystemError(operation_aborted), the other sets `error`. Context: a fiber or a plain thread. Where nothing may
    // block, a new value is returned, and otherwise both throw BlockingOperationException. Never allocates.
    [[nodiscard]] std::optional<T> next() {
        std::optional<T> value;
        constexpr const char* call = "sync::WatchReader::next";
        detail::throwOnError(core_->next(seen_, value, never, call), call);
        return value;
    }
    [[nodiscard]] std::optional<T> next(ErrorCode& error) { return nextOr(never, error, "sync::WatchReader::next"); }
    // The same with a deadline, at which `error` is timed_out.
    [[nodiscard]] std::optional<T> nextUntil(Deadline deadline, ErrorCode& error) {
        return nextOr(deadline, error, "sync::WatchReader::nextUntil");
    }
    // The current value, which counts as seen.
    T get() { return core_->read(seen_); }
    bool hasChanged() const { return core_->version() != seen_; }
    // The current value counts as not seen.
    void markUnseen() noexcept { seen_ = 0; }

  private:
    template <class, class>
    friend class detail::ChangeBranch;

    std::optional<T> nextOr(Deadline deadline, ErrorCode& error, const char* call) {
        std::optional<T> value;
        error = core_->next(seen_, value, deadline, call);
        return value;
    }

    typename Watch<T>::Core* core_;
    typename Watch<T>::Core::Version seen_;
};

}  // namespace weft::sync
