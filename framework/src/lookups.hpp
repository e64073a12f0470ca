// Lookups: pending name resolutions for connections of one LoopSet. A resolver completes on its own thread, perhaps
// after the loops are destroyed. Its answers go through this object, which then drops them.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include <weft/framework/resolver.hpp>

namespace weft::detail {

class ConnectAttempts;

// Context: any thread.
class Lookups {
  public:
    // Returns false when the loops are ending.
    bool add(std::shared_ptr<ConnectAttempts> attempts);
    // Passes the answer to the attempts' loop, unless close() was called first.
    void answer(const std::shared_ptr<ConnectAttempts>& attempts, Future<Resolver::Addresses> addresses) noexcept;
    // No answer will come for these attempts.
    void forget(const std::shared_ptr<ConnectAttempts>& attempts) noexcept;
    // Fails the waiting attempts and all later ones. Must be called before the loops are destroyed.
    void close() noexcept;

  private:
    std::mutex lock_;  // guards the members below, and keeps the loops alive while an answer is passed on
    std::set<std::shared_ptr<ConnectAttempts>> waiting_;
    bool closed_ = false;
};

}  // namespace weft::detail
