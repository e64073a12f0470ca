// BasicSelect: a wait for the first of several things. docs/explanation/protocol.md section 21, docs/adr/0027.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/task.hpp>

namespace weft::detail {

// S: the waits and the deadlines.
template <class S>
class BasicSelect {
    using Wait = typename S::Wait;
    using Until = typename S::Until;

  public:
    using Key = decltype(std::declval<Wait&>().key(WakeReason::resource));

    // One of the things. On the caller's stack.
    class Branch {
      public:
        // Completes the branch if that needs no wait.
        virtual bool tryNow() = 0;
        // False if tryNow() would have returned true. Otherwise the thread that completes the branch ends the wait of
        // `key`.
        [[nodiscard]] virtual bool enlist(const Key& key) = 0;
        // After enlist() has returned true: the wait has ended. If this branch's key `ended` it, the branch is complete
        // after this call; otherwise it is as it was before enlist().
        virtual void withdraw(bool ended) noexcept = 0;

      protected:
        ~Branch() = default;
    };

    // Between a WakeReason and timeout.
    static constexpr std::size_t most = 200;

    // Completes exactly one branch and returns its index in `chosen`; with `waits` false and no branch that is ready,
    // none, and `chosen` is the number of branches. Of several that are ready it takes the first from `start` on.
    // Errors, without a completed branch: timedOut(), operationAborted(). Throws what tryNow() throws, and
    // BlockingOperationException, which names `call`, where nothing may block.
    static ErrorCode wait(std::span<Branch* const> branches, std::size_t start, bool waits, Until until,
                          std::size_t& chosen, const char* call) {
        const std::size_t count = branches.size();
        for (;;) {
            for (std::size_t i = 0; i < count; ++i) {
                chosen = (start + i) % count;
                if (branches[chosen]->tryNow()) return {};
            }
            chosen = count;
            if (!waits) return {};
            const WakeReason why = waitOnce(branches, until, call);
            if (why == again) continue;
            if (static_cast<std::size_t>(why) >= count) return errorOf(why);
            chosen = static_cast<std::size_t>(why);
            return {};
        }
    }

  private:
    static constexpr auto again = static_cast<WakeReason>(most);

    // A branch that is ready is not taken here, because another one may have been completed meanwhile: this wait ends
    // itself instead, unless it has been ended.
    static WakeReason waitOnce(std::span<Branch* const> branches, Until until, const char* call) {
        Wait wait(call);
        std::size_t enlisted = 0;
        while (enlisted < branches.size() && branches[enlisted]->enlist(wait.key(static_cast<WakeReason>(enlisted)))) {
            ++enlisted;
        }
        if (enlisted < branches.size()) wait.key(again).wake();
        const WakeReason why = wait.park(until);
        while (enlisted > 0) {
            --enlisted;
            branches[enlisted]->withdraw(static_cast<std::size_t>(why) == enlisted);
        }
        return why;
    }
};

}  // namespace weft::detail
