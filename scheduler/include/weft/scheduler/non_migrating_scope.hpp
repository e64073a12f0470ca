// NonMigratingScope: keeps the running fiber on its home carrier, whatever its SpawnOptions::stealable says.
#pragma once

namespace weft {

namespace detail {
struct Fiber;
}

// For code that must not find itself on another thread after a wait: foreign frames that keep thread_local addresses, a
// locked std::mutex, errno. A fiber that runs elsewhere goes home first. Nests, up to 65,535 deep. Outside of fibers it does
// nothing. Context: made and ended by one fiber, in the order of scopes. Never allocates; throws
// BlockingOperationException when the fiber is away where nothing may suspend.
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
