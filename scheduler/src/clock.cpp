#include <weft/scheduler/clock.hpp>

#include <weft/scheduler/carrier.hpp>

namespace weft {

namespace {

class SteadyClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

constinit SteadyClock theSteadyClock;  // not a function-local static, whose guard every call would check

}  // namespace

Clock& Clock::steady() noexcept {
    return theSteadyClock;
}

Clock& Clock::current() noexcept {
    const Carrier* const here = Carrier::current();
    return here != nullptr ? here->clock() : steady();
}

}  // namespace weft
