// NonSuspendingScope: code in which no fiber may suspend: event-loop dispatch, pipeline entries, listeners
// (docs/adr/0003).
#pragma once

namespace weft {

class Carrier;

// While a scope is alive on a carrier, every blocking call on that carrier throws BlockingOperationException. Scopes
// nest. Does nothing on a thread that is no carrier. Context: any thread. Never blocks, allocates or throws.
class NonSuspendingScope {
  public:
    NonSuspendingScope() noexcept;
    // As above, for callers that know their carrier (null: none) and can save the lookup.
    explicit NonSuspendingScope(Carrier* carrier) noexcept;
    ~NonSuspendingScope();
    NonSuspendingScope(const NonSuspendingScope&) = delete;
    NonSuspendingScope& operator=(const NonSuspendingScope&) = delete;

    // True while a scope is alive on the calling thread's carrier.
    static bool active() noexcept;

  private:
    Carrier* carrier_;
};

}  // namespace weft
