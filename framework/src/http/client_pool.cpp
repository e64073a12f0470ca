#include <weft/framework/http/client_pool.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft::http {

namespace {

// A live idle connection has nothing to read and has not ended. The read waits for nothing from the peer, for its deadline
// is now; but a read that has to wait parks, and its fiber comes back in the next turn.
bool isQuiet(TcpStream& stream) {
    std::array<char, 1> byte;
    ErrorCode error;
    stream.setDeadline(Clock::steady().now());
    stream.read(byte, error);
    return error == timedOut();
}

}  // namespace

ClientPool::ClientPool() noexcept : TimerEntry(&ClientPool::expire) {}

ClientPool::~ClientPool() {
    if (armed()) Carrier::current()->timers().disarm(*this);
}

TcpStream ClientPool::take(const SocketAddress& backend) {
    SocketIoHandler* const home = SocketIoHandler::of(*Carrier::current());
    const auto sameBackend = [&](const Idle& idle) { return idle.backend == backend; };
    for (;;) {  // each round takes one out; isQuiet() may park, and other fibers change the list meanwhile
        const auto found = std::find_if(idle_.rbegin(), idle_.rend(), sameBackend);
        if (found == idle_.rend()) return {};
        Idle last = std::move(*found);
        idle_.erase(std::next(found).base());
        if (last.home != home || !last.stream.isOpen()) continue;
        if (Clock::steady().now() - last.since <= trustedTime || isQuiet(last.stream)) return std::move(last.stream);
    }
}

void ClientPool::put(const SocketAddress& backend, TcpStream stream) {
    const auto sameBackend = [&](const Idle& idle) { return idle.backend == backend; };
    if (idle_.size() >= maxIdle) idle_.erase(idle_.begin());
    if (static_cast<std::size_t>(std::count_if(idle_.begin(), idle_.end(), sameBackend)) >= maxIdlePerBackend) {
        idle_.erase(std::find_if(idle_.begin(), idle_.end(), sameBackend));
    }
    idle_.push_back({backend, std::move(stream), Clock::steady().now(), SocketIoHandler::of(*Carrier::current())});
    armTimer();
}

void ClientPool::drop(const SocketAddress& backend) noexcept {
    std::erase_if(idle_, [&](const Idle& idle) { return idle.backend == backend; });
}

// One timer, for the oldest connection; one that has been taken out meanwhile costs a look for nothing.
void ClientPool::armTimer() noexcept {
    if (!armed() && !idle_.empty()) Carrier::current()->timers().arm(*this, idle_.front().since + idleTime);
}

void ClientPool::expire(TimerEntry& entry) noexcept {
    auto& pool = static_cast<ClientPool&>(entry);
    pool.closeExpired();
    pool.armTimer();
}

void ClientPool::closeExpired() noexcept {
    const TimePoint now = Clock::steady().now();
    const auto alive = std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return now < idle.since + idleTime; });
    idle_.erase(idle_.begin(), alive);
}

}  // namespace weft::http
