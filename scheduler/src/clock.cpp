#include <weft/scheduler/clock.hpp>

#include <weft/scheduler/carrier.hpp>

namespace weft {

namespace {

class SteadyClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

// Never destroyed: threads that outlive exit()'s destructors, such as those of a BlockingPool, still read the clock.
union Undestroyed {
    constexpr Undestroyed() noexcept : clock() {}
    ~Undestroyed() {}  // NOLINT(modernize-use-equals-default): the default would be deleted
    SteadyClock clock;
};

constinit Undestroyed theSteadyClock;  // not a function-local static, whose guard every call would check

}  // namespace

Clock& Clock::steady() noexcept {
    return theSteadyClock.clock;
}

Clock& Clock::current() noexcept {
    const Carrier* const here = Carrier::current();
    return here != nullptr ? here->clock() : steady();
}

}  // namespace weft
