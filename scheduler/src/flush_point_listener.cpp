#include "weft/scheduler/event_loop.hpp"

namespace weft {

namespace {

// Beside the loop, the only final listener there, the compiler would compare it with each listener before the call.
class IgnoredListener final : public FlushPointListener {
  public:
    void onFlushPoint() noexcept override {}
};

}  // namespace

// It is never called, because it seems to wait for a flush point already.
FlushPointListener& FlushPointListener::ignored() noexcept {
    static IgnoredListener listener;
    static const bool once = (listener.awaitsFlushPoint_ = true);
    static_cast<void>(once);
    return listener;
}

}  // namespace weft
