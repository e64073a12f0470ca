// KeptInFork: the base of state that a forked process must not destroy, because threads that exist in the parent only
// may hold its locks or wait on its condition variables.
#pragma once

#include <memory>

namespace weft::detail {

class KeptInFork {
  public:
    // Keeps the object for the rest of the process; reachable, so that leak checkers do not report it. Context: any
    // thread. Does not allocate.
    static void keep(std::shared_ptr<KeptInFork> object) noexcept;

  protected:
    KeptInFork() = default;
    ~KeptInFork() = default;  // not virtual: a shared_ptr remembers the type

  private:
    std::shared_ptr<KeptInFork> self_;
    KeptInFork* before_ = nullptr;  // the object that was kept before this one
};

}  // namespace weft::detail
