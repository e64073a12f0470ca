// CancellationShield: a scope that defers a cancellation of the running fiber, for cleanup code that has to block.
#pragma once

namespace weft {

namespace detail {
struct Fiber;
}

// While a shield is alive, no cancellation, CancelScope or DeadlineScope ends this fiber's blocking calls. It ends the
// first blocking call after the outermost shield with operation_aborted. The children of a TaskScope that is
// constructed under a shield inherit no scopes. A shield does not defer the shutdown of the carrier. Shields nest.
// Context: constructed and destroyed by the same fiber; does nothing on a plain thread. Never blocks, allocates or
// throws.
class CancellationShield {
  public:
    CancellationShield() noexcept;
    ~CancellationShield();
    CancellationShield(const CancellationShield&) = delete;
    CancellationShield& operator=(const CancellationShield&) = delete;

  private:
    detail::Fiber* fiber_;
};

}  // namespace weft
