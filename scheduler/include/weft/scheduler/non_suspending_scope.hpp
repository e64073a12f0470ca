// Marks code in which no fiber may be suspended: event-loop dispatch, pipeline entries, listener calls (docs/adr/0003).
#pragma once

namespace weft {

class Carrier;

// While one is alive on a carrier, every blocking call of a fiber there throws BlockingOperationException. Nests. On a
// thread that is no carrier it does nothing. Context: any thread. Never blocks, allocates or throws.
class NonSuspendingScope {
  public:
    NonSuspendingScope() noexcept;
    // For callers that know their carrier (null: none), to save the look-up.
    explicit NonSuspendingScope(Carrier* carrier) noexcept;
    ~NonSuspendingScope();
    NonSuspendingScope(const NonSuspendingScope&) = delete;
    NonSuspendingScope& operator=(const NonSuspendingScope&) = delete;

    // True when a blocking call would throw here.
    static bool active() noexcept;

  private:
    Carrier* carrier_;
};

}  // namespace weft
