// FiberSet: running fibers of one carrier that end together; a channel keeps those that its handlers spawned in one.
#pragma once

#include <cstdint>
#include <string_view>

#include <weft/scheduler/deadline.hpp>

namespace weft {

namespace detail {
struct Fiber;
}

// Intrusive: its members live on their fibers' stacks. Context: the carrier of its fibers, outside of any of them or in
// one of them; a member that runs elsewhere comes home to join and to leave. Never allocates or throws, and at home never blocks.
// Lifetime: longer than its members.
class FiberSet {
  public:
    // Makes the running fiber one of the set until this object's end; that of a set that has been cancelled is
    // cancelled at once. Context: a fiber of the carrier.
    class Member {
      public:
        explicit Member(FiberSet& set) noexcept;
        ~Member();
        Member(const Member&) = delete;
        Member& operator=(const Member&) = delete;

      private:
        friend class FiberSet;
        FiberSet& set_;
        detail::Fiber& fiber_;
        const TimePoint since_;
        Member* previous_ = nullptr;
        Member* next_ = nullptr;
    };

    // Cancels every member (JoinHandle::cancel()), those of later, too.
    void cancel() noexcept;

    bool empty() const noexcept { return first_ == nullptr; }
    // Calls visit(name, since) for each: the fiber's name, valid during the call; when it joined, not later than that
    // and earlier by at most one drain of the carrier.
    template <class Visit>
    void forEach(Visit visit) const {
        for (const Member* member = first_; member != nullptr; member = member->next_) {
            NameBytes bytes;
            visit(nameOf(*member, bytes), member->since_);
        }
    }

  private:
    using NameBytes = char[32];
    static std::string_view nameOf(const Member& member, NameBytes& bytes) noexcept;

    Member* first_ = nullptr;
    bool cancelled_ = false;
};

}  // namespace weft
