// PollerSlot: the one poller that a carrier can host.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include <weft/scheduler/detail/poller_gate.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::detail {

class PollerSlot {
  public:
    using Gate = BasicPollerGate<NativeAtomics>;
    using Claimed = Gate::Claimed;

    // Any thread.
    Claimed claim() noexcept { return gate_.claim(); }
    // The claimer, before the poller runs.
    Future<void> fill(UniqueFunction<void()> wakeup) {
        wakeup_ = std::move(wakeup);
        termination_.emplace();
        error_ = nullptr;
        return termination_->future();
    }
    // The claimer, when the poller could not be started.
    void unclaim() noexcept {
        wakeup_.reset();
        termination_.reset();
        gate_.unclaim();
    }
    // The ending carrier: refuses pollers from now on; false while the slot is taken.
    [[nodiscard]] bool closeIfFree() noexcept { return gate_.closeIfFree(); }

    // The waker that ended the carrier's sleep: exactly one call per sleep.
    void wake() noexcept {
        wakeup_();
        gate_.noteDelivered();
    }
    // The carrier.
    void countWake() noexcept { gate_.countWake(); }

    void setError(std::exception_ptr error) noexcept { error_ = std::move(error); }

    // The carrier, after the body has ended: waits for the last wakeup call, frees the slot, completes the future.
    void release() noexcept;

  private:
    Gate gate_;
    UniqueFunction<void()> wakeup_;  // written while claimed and not running; called by wakers
    std::optional<Promise<void>> termination_;
    std::exception_ptr error_;
};

}  // namespace weft::detail
