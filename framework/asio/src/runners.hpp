// Runners: the callers of Context::run() and its variants, in the order in which they came.
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

// One call. The caller waits; the loop counts handlers for it and lets it go.
class Runner {
  public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    Runner(std::size_t most, bool whileIdle) : left(most), waits(whileIdle) {}

    // Context: the caller. No error once it was let go.
    ErrorCode awaitUntil(Deadline deadline, const char* call) {
        return waiters_.waitUntil(lock_, deadline, call, [this] { return letGo_; });
    }
    void awaitCertainly(const char* call) {
        waiters_.waitUninterruptibly(lock_, call, [this] { return letGo_; });
    }
    // How many handlers have run, or the error; once, after the wait.
    std::size_t result() const {
        if (error) std::rethrow_exception(error);
        return ran;
    }
    // Context: the loop; the last touch.
    void letGo() noexcept {
        waiters_.changeAndWakeAll(lock_, [this] { letGo_ = true; });
    }

    // The loop's, until it lets go.
    std::size_t left;  // handlers that it may still have
    const bool waits;  // for further handlers, when none is ready
    std::size_t ran = 0;
    std::exception_ptr error;

  private:
    std::mutex lock_;
    WaitList waiters_;
    bool letGo_ = false;
};

// Handlers are counted for the oldest caller. A caller that has had enough leaves the list at once, and is let go by
// letGoThoseWhoLeft(), when the context is in the state that it will find. Context: the loop.
class Runners {
    using Pointer = std::shared_ptr<Runner>;

  public:
    bool empty() const noexcept { return active_.empty(); }
    std::size_t size() const noexcept { return active_.size(); }
    // Throws std::bad_alloc, and has changed nothing.
    void add(const Pointer& runner) {
        left_.reserve(left_.size() + active_.size() + 1);
        active_.push_back(runner);
    }

    // `count` handlers have run. True when a caller has had enough by that.
    [[nodiscard]] bool count(std::size_t count) noexcept {
        if (empty()) return false;
        Runner& first = *active_.front();
        first.ran += count;
        if (first.left == Runner::unlimited) [[likely]]
            return false;
        return countOff(first, count);
    }
    bool someoneDoesNotWait() const noexcept {
        return std::any_of(active_.begin(), active_.end(), [](const Pointer& runner) { return !runner->waits; });
    }
    bool someoneCountsOff() const noexcept {
        return std::any_of(active_.begin(), active_.end(),
                           [](const Pointer& runner) { return runner->left != Runner::unlimited; });
    }
    // No handler is ready.
    void endThoseWhoDoNotWait() noexcept {
        for (std::size_t i = active_.size(); i-- > 0;) {
            if (!active_[i]->waits) leave(i);
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
    // A handler has thrown: the oldest caller throws it. False: there is no caller.
    [[nodiscard]] bool fail(const std::exception_ptr& error) noexcept {
        if (empty()) return false;
        active_.front()->error = error;
        leave(0);
        return true;
    }
    void letGoThoseWhoLeft() noexcept {
        if (!left_.empty()) [[unlikely]]
            letGo();
    }

  private:
    [[gnu::noinline]] bool countOff(Runner& first, std::size_t count) noexcept {
        first.left -= std::min(count, first.left);
        if (first.left != 0) return false;
        leave(0);
        return true;
    }
    [[gnu::noinline]] void letGo() noexcept {
        while (!left_.empty()) {
            const Pointer runner = std::move(left_.back());
            left_.pop_back();
            runner->letGo();
        }
    }
    void leave(std::size_t index) noexcept {
        left_.push_back(std::move(active_[index]));  // there is room: add()
        active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(index));
    }

    std::vector<Pointer> active_;
    std::vector<Pointer> left_;
};

}  // namespace weft::asio_io::detail
