// Runners: the callers of Context::run() and its variants, in order of arrival.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft::asio_io::detail {

// One call. The caller waits; the loop counts handlers for it and releases it.
class Runner {
  public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    Runner(std::size_t most, bool whileIdle) : remaining(most), waitsWhenIdle(whileIdle) {}

    // Returns success once the caller has been released, otherwise why the wait ended. Context: the caller.
    ErrorCode awaitUntil(Deadline deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return released_; });
    }
    void awaitUninterruptibly(const char* call) {
        waiters_.waitUninterruptibly(lock_, call, [this] { return released_; });
    }
    // Returns the number of handlers run, or throws the error, of which it keeps no reference. Once, after the wait.
    std::size_t result() {
        if (error) std::rethrow_exception(std::exchange(error, nullptr));
        return ran;
    }
    // Releases the caller; does not touch this object after that. Context: the loop.
    void releaseWaiters() noexcept {
        waiters_.changeAndWakeAll(lock_, [this] { released_ = true; });
    }

    // Used by the loop only, until it releases the caller.
    std::size_t remaining;     // handlers that this call may still run
    const bool waitsWhenIdle;  // false for poll() and poll_one(), which return when no handler is ready
    std::size_t ran = 0;
    std::exception_ptr error;

  private:
    std::mutex lock_;
    WaitList waiters_;
    bool released_ = false;
};

// Handlers are counted for the oldest caller. A caller that has reached its limit leaves the list at once;
// releaseLeavingRunners() releases it later, when the context is in the state that the caller will see. Context: the
// loop.
class Runners {
    using Pointer = std::shared_ptr<Runner>;

  public:
    bool empty() const noexcept { return active_.empty(); }
    std::size_t size() const noexcept { return active_.size(); }
    // Throws std::bad_alloc without any effect.
    void add(const Pointer& runner) {
        leaving_.reserve(leaving_.size() + active_.size() + 1);
        active_.push_back(runner);
    }

    // Call it after `count` handlers have run. Returns true if the oldest caller has thereby reached its limit.
    [[nodiscard]] bool count(std::size_t count) noexcept {
        if (empty()) return false;
        Runner& first = *active_.front();
        first.ran += count;
        if (first.remaining == Runner::unlimited) [[likely]]
            return false;
        return countOff(first, count);
    }
    bool hasNonWaiting() const noexcept {
        return std::any_of(active_.begin(), active_.end(),
                           [](const Pointer& runner) { return !runner->waitsWhenIdle; });
    }
    // Call it when no handler is ready.
    void endNonWaiting() noexcept {
        for (std::size_t i = active_.size(); i-- > 0;) {
            if (!active_[i]->waitsWhenIdle) leave(i);
        }
    }
    void endAll(const std::exception_ptr& error = nullptr) noexcept {
        while (!empty()) {
            active_.front()->error = error;
            leave(0);
        }
    }
    void end(const Runner& runner) noexcept {
        for (std::size_t i = 0; i < active_.size(); ++i) {
            if (active_[i].get() == &runner) return leave(i);
        }
    }
    // Call it after a handler has thrown: the oldest caller throws the exception. Returns false when there is no
    // caller.
    [[nodiscard]] bool fail(const std::exception_ptr& error) noexcept {
        if (empty()) return false;
        active_.front()->error = error;
        leave(0);
        return true;
    }
    void releaseLeavingRunners() noexcept {
        if (!leaving_.empty()) [[unlikely]]
            releaseWaiters();
    }

  private:
    [[gnu::noinline]] bool countOff(Runner& first, std::size_t count) noexcept {
        first.remaining -= std::min(count, first.remaining);
        if (first.remaining != 0) return false;
        leave(0);
        return true;
    }
    [[gnu::noinline]] void releaseWaiters() noexcept {
        while (!leaving_.empty()) {
            const Pointer runner = std::move(leaving_.back());
            leaving_.pop_back();
            runner->releaseWaiters();
        }
    }
    void leave(std::size_t index) noexcept {
        leaving_.push_back(std::move(active_[index]));  // add() reserved capacity
        active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
    }

    std::vector<Pointer> active_;
    std::vector<Pointer> leaving_;  // no longer active, not yet released
};

}  // namespace weft::asio_io::detail
