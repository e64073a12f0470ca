// CancellationShield: a scope that a cancellation of the running fiber does not reach; for cleaning up.
#pragma once

namespace weft {

namespace detail {
struct Fiber;
}

// While one is alive, blocking calls of this fiber wait although it has been cancelled; the first blocking call after
// the outermost one ends with operation_aborted. The shutdown of the carrier is not kept off. Nests. Context: a fiber,
// and the same one at its end; on a plain thread it does nothing. Never blocks, allocates or throws.
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
