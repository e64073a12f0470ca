#include "lookups.hpp"

#include <utility>

#include "connect_attempts.hpp"

namespace weft::detail {

bool Lookups::add(std::shared_ptr<ConnectAttempts> attempts) {
    std::lock_guard held(lock_);
    if (!closed_) waiting_.insert(std::move(attempts));
    return !closed_;
}

void Lookups::answer(const std::shared_ptr<ConnectAttempts>& attempts, Future<Resolver::Addresses> addresses) noexcept {
    bool refused = false;
    {
        std::lock_guard held(lock_);
        refused = waiting_.erase(attempts) != 0 && !attempts->resolved(std::move(addresses));
    }
    if (refused) attempts->abort();  // outside the lock: its listeners may connect again
}

void Lookups::forget(const std::shared_ptr<ConnectAttempts>& attempts) noexcept {
    std::lock_guard held(lock_);
    waiting_.erase(attempts);
}

void Lookups::close() noexcept {
    std::set<std::shared_ptr<ConnectAttempts>> abandoned;
    {
        std::lock_guard held(lock_);
        closed_ = true;
        abandoned = std::exchange(waiting_, {});
    }
    for (const auto& attempts : abandoned) attempts->abort();
}

}  // namespace weft::detail
