// NonMigratingScope: keeps the running fiber on its home carrier, regardless of SpawnOptions::stealable.
#pragma once

namespace weft {

namespace detail {
struct Fiber;
}

// For code that must stay on one thread across its waits, because it keeps thread_local addresses, holds a std::mutex
// or uses errno. A fiber that runs on another carrier first goes home. Scopes nest, up to 65,535 deep. Does nothing
// outside of fibers. Context: constructed and destroyed by the same fiber, in the order of scopes. Never allocates.
// Throws BlockingOperationException if the fiber would have to go home where nothing may suspend.
class NonMigratingScope {
  public:
    NonMigratingScope();
    ~NonMigratingScope();
    NonMigratingScope(const NonMigratingScope&) = delete;
    NonMigratingScope& operator=(const NonMigratingScope&) = delete;

  private:
    detail::Fiber* const fiber_;
};

}  // namespace weft
