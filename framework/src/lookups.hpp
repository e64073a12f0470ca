// Lookups: the names that are being resolved for connections of one LoopSet. A resolver answers on a thread of its own,
// maybe when the loops have gone: what it says goes through here, where nothing waits any more by then.
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
    // False: the loops are ending.
    bool add(std::shared_ptr<ConnectAttempts> attempts);
    // Hands the answer to the attempts' loop, unless close() came first.
    void answer(const std::shared_ptr<ConnectAttempts>& attempts, Future<Resolver::Addresses> addresses) noexcept;
    // No answer will come.
    void forget(const std::shared_ptr<ConnectAttempts>& attempts) noexcept;
    // Fails the attempts that still wait, and all to come. To be called before the loops go.
    void close() noexcept;

  private:
    std::mutex lock_;  // guards what follows, and keeps the loops alive while an answer is handed over
    std::set<std::shared_ptr<ConnectAttempts>> waiting_;
    bool closed_ = false;
};

}  // namespace weft::detail
