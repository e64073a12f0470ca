// FiberSet: running fibers of one carrier that end together; a channel keeps those that its handlers spawned in one.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/scheduler/deadline.hpp>

namespace weft {

namespace detail {
struct Fiber;
}

// Intrusive: its members live on their fibers' stacks. Context: the carrier of its fibers, outside of any of them or in
// one of them; a member that runs elsewhere comes home to join and to leave. Never allocates or throws, and at home never
// blocks. Lifetime: longer than its members. Carrier::spawnMember() starts a fiber that is one from its spawn on.
class FiberSet {
  public:
    // A place in a set, taken until this object's end. The fiber of a set that has been cancelled is cancelled at once.
    class Member {
      public:
        // A place of its own, not yet taken.
        Member() = default;
        // Makes the running fiber one of the set. Context: a fiber of the carrier.
        explicit Member(FiberSet& set) noexcept;
        ~Member() {
            if (set_ != nullptr) leave();
        }
        Member(const Member&) = delete;
        Member& operator=(const Member&) = delete;

        // Once: makes `fiber` one of the set. Context: its home, before it has been submitted.
        void join(FiberSet& set, detail::Fiber& fiber) noexcept;
        // The fiber begins; makes it one of the set if it is not. Context: the fiber, wherever it runs.
        void begin(FiberSet& set) noexcept;

      private:
        friend class FiberSet;
        void leave() noexcept;

        FiberSet* set_ = nullptr;
        detail::Fiber* fiber_ = nullptr;
        std::atomic<TimePoint::rep> since_{0};  // when it began; relaxed: a figure. 0: it has not.
        Member* previous_ = nullptr;
        Member* next_ = nullptr;
    };

    // Cancels every member (JoinHandle::cancel()), those of later, too.
    void cancel() noexcept;

    bool empty() const noexcept { return first_ == nullptr; }
    // Calls visit(name, since) for each: the fiber's name, valid during the call; when it began as a member, not later than
    // that and earlier by at most one drain of the carrier that ran it; for one that has not begun, now.
    template <class Visit>
    void forEach(Visit visit) const {
        for (const Member* member = first_; member != nullptr; member = member->next_) {
            NameBytes bytes;
            visit(nameOf(*member, bytes), sinceOf(*member));
        }
    }

  private:
    using NameBytes = char[32];
    static std::string_view nameOf(const Member& member, NameBytes& bytes) noexcept;
    static TimePoint sinceOf(const Member& member) noexcept;

    Member* first_ = nullptr;
    bool cancelled_ = false;
};

namespace detail {

// What a MemberFunction is made of, in place.
template <class G>
struct MemberParts {
    FiberSet& set;
    G&& function;
};

// The function of a fiber that is a member of a set until it has returned.
template <class F>
class MemberFunction {
  public:
    template <class G>
    explicit MemberFunction(MemberParts<G>&& parts) : set_(parts.set), function_(std::forward<G>(parts.function)) {}

    void join(Fiber& fiber) noexcept { member_.join(set_, fiber); }
    void operator()() {
        member_.begin(set_);
        function_();
    }

  private:
    FiberSet& set_;
    F function_;  // may be what keeps the set alive: destroyed after the member
    FiberSet::Member member_;
};

}  // namespace detail

}  // namespace weft
