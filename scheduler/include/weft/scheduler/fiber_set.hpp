// FiberSet: fibers of one carrier that can be cancelled together, such as those that the handlers of a channel spawned.
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

// Intrusive: a Member lives on its fiber's stack. Context: the home carrier of its fibers, in a fiber or in dispatch. A
// fiber that runs on another carrier goes home to join and to leave; it must not do so where nothing may suspend
// (asserted). Never allocates or throws; never blocks at home. Lifetime: longer than its members.
// Carrier::spawnMember() starts a fiber that is a member from its spawn.
class FiberSet {
  public:
    // Membership of a fiber in a set; the destructor ends it. A fiber that joins a cancelled set is cancelled at once.
    class Member {
      public:
        // Not a member yet; see join() and begin().
        Member() = default;
        // Makes the running fiber a member of `set`. Context: a fiber of the carrier.
        explicit Member(FiberSet& set) noexcept;
        ~Member() {
            if (set_ != nullptr) leave();
        }
        Member(const Member&) = delete;
        Member& operator=(const Member&) = delete;

        // Makes `fiber` a member of `set`; at most once. Context: its home, before it has been submitted.
        void join(FiberSet& set, detail::Fiber& fiber) noexcept;
        // Notes the time at which the fiber begins, and makes it a member of `set` if it is not one. Context: the
        // fiber, on any carrier.
        void begin(FiberSet& set) noexcept;

      private:
        friend class FiberSet;
        void leave() noexcept;

        FiberSet* set_ = nullptr;
        detail::Fiber* fiber_ = nullptr;
        std::atomic<TimePoint::rep> since_{0};  // when it began; 0: it has not. relaxed: a statistic
        Member* previous_ = nullptr;
        Member* next_ = nullptr;
    };

    // Cancels every present and future member, as JoinHandle::cancel() does.
    void cancel() noexcept;

    bool empty() const noexcept { return first_ == nullptr; }
    bool hasRunningFiber() const noexcept;
    // Calls visit(name, since) for each member. `name` is the fiber's name, valid during the call. `since` is the time
    // of Member::begin(), or up to one turn of the carrier before it; the current time if begin() has not been called.
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

// The parts from which a MemberFunction is constructed in place.
template <class G>
struct MemberParts {
    FiberSet& set;
    G&& function;
};

// The function of a fiber that is a member of a set until the function has returned.
template <class F>
class MemberFunction {
  public:
    template <class G>
    explicit MemberFunction(MemberParts<G>&& parts) : set_(parts.set), function_(std::forward<G>(parts.function)) {}

    void join(Fiber& fiber) noexcept { member_.join(set_, fiber); }
    decltype(auto) operator()() {
        member_.begin(set_);
        return function_();
    }

  private:
    FiberSet& set_;
    F function_;  // may own the set: destroyed after the member
    FiberSet::Member member_;
};

}  // namespace detail

}  // namespace weft
