#include <weft/scheduler/deadline.hpp>

namespace weft {

namespace {

class SteadyClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

constinit SteadyClock theSteadyClock;  // not in the function, which would ask each time whether it has been made

}  // namespace

Clock& Clock::steady() noexcept {
    return theSteadyClock;
}

}  // namespace weft
