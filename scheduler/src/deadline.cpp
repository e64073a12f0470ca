#include <weft/scheduler/deadline.hpp>

namespace weft {

namespace {

class SteadyClock final : public Clock {
  public:
    TimePoint now() const noexcept override { return std::chrono::steady_clock::now(); }
};

}  // namespace

Clock& Clock::steady() noexcept {
    static SteadyClock clock;
    return clock;
}

}  // namespace weft
