#include "client_pool.hpp"

#include <algorithm>
#include <array>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/socket_io_handler.hpp>

namespace weft::http {

namespace {

// A live idle connection has nothing to read and has not ended. Any bytes that have arrived would be taken for the
// response to the next request. Checks the kernel, because the poller may not have run since bytes arrived.
bool isQuiet(TcpStream& stream) {
    std::array<char, 1> byte;
    ErrorCode error;
    stream.tryRead(byte, error);
    return error == fromErrno(EAGAIN) && !stream.holdsInput();  // over TLS, a part of a record may have arrived
}

}  // namespace

// ---- Lease ----

ClientPool::Lease& ClientPool::Lease::operator=(Lease&& other) noexcept {
    if (this != &other) {
        release();
        pool_ = std::exchange(other.pool_, nullptr);
        host_ = other.host_;
        connection_ = std::move(other.connection_);
    }
    return *this;
}

void ClientPool::Lease::fill(TcpStream stream) {
    connection_ = std::make_shared<PooledConnection>();
    connection_->stream = std::move(stream);
    connection_->home = SocketIoHandler::of(*Carrier::current());
    ++pool_->stats_.opened;
}

void ClientPool::Lease::close() noexcept {
    if (connection_) connection_->stream.close();
    connection_.reset();
}

void ClientPool::Lease::keep() noexcept {
    if (ClientPool* const pool = std::exchange(pool_, nullptr)) pool->put(*host_, std::move(connection_));
}

void ClientPool::Lease::release() noexcept {
    if (pool_ == nullptr) return;
    close();
    std::exchange(pool_, nullptr)->releasePlace(*host_);
}

// ---- taking ----

ClientPool::ClientPool(std::shared_ptr<const ClientOptions> options) noexcept
    : TimerEntry(&ClientPool::expire), options_(std::move(options)) {}

ClientPool::~ClientPool() {
    if (armed()) Carrier::current()->timers().disarm(*this);
}

ClientPool::Lease ClientPool::acquire(const Origin& origin, Deadline deadline, ErrorCode& error) {
    error = {};
    thisFiber::yieldIfDue();  // here, not between the check of a connection and the request
    Host& host = hostOf(origin);
    Lease lease = tryTake(host);
    if (!lease.valid()) lease = waitFor(host, deadline, error);
    while (lease.connection_ && !isQuiet(lease.stream())) {
        ++stats_.stale;
        lease.close();
        lease.connection_ = popIdle(host);
        if (lease.connection_) releasePlace(host);  // it has a place of its own, but the lease already holds one
    }
    if (lease.connection_) ++stats_.reused;
    return lease;
}

ClientPool::Host& ClientPool::hostOf(const Origin& origin) {
    if (lastUsed_ == nullptr || lastUsed_->first != origin) lastUsed_ = &*hosts_.try_emplace(origin).first;
    return lastUsed_->second;
}

ClientPool::Lease ClientPool::tryTake(Host& host) {
    if (std::shared_ptr<PooledConnection> last = popIdle(host)) return {*this, host, std::move(last)};
    if (host.open >= options_->maxPerHost) return {};
    if (total_ >= options_->maxConnections && !closeOldest()) return {};
    ++host.open;
    ++total_;
    return {*this, host, nullptr};
}

// Takes the newest usable connection; its place stays taken. Closes newer ones that are not usable (closed, or
// of a loop that has been replaced) and frees their places. Null when there is none.
std::shared_ptr<PooledConnection> ClientPool::popIdle(Host& host) noexcept {
    SocketIoHandler* const home = SocketIoHandler::of(*Carrier::current());
    while (!host.idle.empty()) {
        std::shared_ptr<PooledConnection> last = std::move(host.idle.back());
        host.idle.pop_back();
        --idle_;
        if (last->home == home && last->stream.isOpen()) return last;
        --host.open;
        --total_;
    }
    return nullptr;
}

// FIFO: freed capacity goes to the first waiter that can use it.
ClientPool::Lease ClientPool::waitFor(Host& host, Deadline deadline, ErrorCode& error) {
    ++stats_.waited;
    Suspension wait("http::Client");
    Waiter self{&host, wait.key(), {}};
    const auto place = waiters_.insert(waiters_.end(), &self);
    ++host.waiting;
    const WakeReason why = wait.park(deadline);
    --host.waiting;
    if (self.lease.valid()) return std::move(self.lease);  // the granter has removed us from the list
    waiters_.erase(place);
    error = why == WakeReason::timeout ? timedOut() : operationAborted();
    return {};
}

// ---- returning ----

void ClientPool::put(Host& host, std::shared_ptr<PooledConnection> connection) {
    if (options_->maxIdlePerHost == 0) {
        connection->stream.close();
        return releasePlace(host);
    }
    connection->stream.setDeadline(never);
    if (host.idle.size() >= options_->maxIdlePerHost) closeIdle(host, 0);
    connection->idleSince = Clock::current().now();
    host.idle.push_back(std::move(connection));
    ++idle_;
    if (!waiters_.empty()) serveOne();
    armTimer();
}

void ClientPool::releasePlace(Host& host) noexcept {
    --host.open;
    --total_;
    serveOne();
    forgetUnused();
}

// Serves the first waiter that can use the capacity just freed.
bool ClientPool::serveOne() {
    for (auto it = waiters_.begin(); it != waiters_.end(); ++it) {
        Waiter& waiter = **it;
        waiter.lease = tryTake(*waiter.host);
        if (!waiter.lease.valid()) continue;
        waiters_.erase(it);
        waiter.key.wake();
        return true;
    }
    return false;
}

void ClientPool::drop(const Lease& lease) noexcept {
    Host& host = *lease.host_;
    while (!host.idle.empty()) closeIdle(host, host.idle.size() - 1);
    while (serveOne()) {
    }
}

void ClientPool::closeIdle(Host& host, std::size_t index) noexcept {
    host.idle.erase(host.idle.begin() + static_cast<std::ptrdiff_t>(index));
    --host.open;
    --total_;
    --idle_;
}

// Closes the oldest idle connection of any host, because a request needs its place and maxConnections is reached.
bool ClientPool::closeOldest() noexcept {
    Host* oldest = nullptr;
    for (auto& [origin, host] : hosts_) {
        if (host.idle.empty()) continue;
        if (!oldest || host.idle.front()->idleSince < oldest->idle.front()->idleSince) oldest = &host;
    }
    if (oldest) closeIdle(*oldest, 0);
    return oldest != nullptr;
}

void ClientPool::forgetUnused() noexcept {
    lastUsed_ = nullptr;
    std::erase_if(hosts_, [](const auto& entry) { return entry.second.open == 0 && entry.second.waiting == 0; });
}

ClientStats ClientPool::statsNow() const noexcept {
    ClientStats now = stats_;
    now.idle = idle_;
    now.inUse = total_ - idle_;
    now.waiting = waiters_.size();
    return now;
}

// ---- expiry ----

// One timer, armed for the oldest connection. If a request has taken that connection meanwhile, the timer closes
// nothing when it fires, and is armed for the connection that is then the oldest.
void ClientPool::armTimer() noexcept {
    if (armed() || idle_ == 0) return;
    TimePoint first = TimePoint::max();
    for (const auto& [origin, host] : hosts_) {
        if (!host.idle.empty()) first = std::min(first, host.idle.front()->idleSince);
    }
    const Deadline end = endOfIdleness(first);
    if (end != never) Carrier::current()->timers().arm(*this, end);
}

Deadline ClientPool::endOfIdleness(TimePoint since) const noexcept {
    return deadlineAfter(since, options_->idleTime);
}

void ClientPool::expire(TimerEntry& entry) noexcept {
    auto& pool = static_cast<ClientPool&>(entry);
    const TimePoint now = Clock::current().now();
    for (auto& [origin, host] : pool.hosts_) {
        while (!host.idle.empty() && now >= pool.endOfIdleness(host.idle.front()->idleSince)) pool.closeIdle(host, 0);
    }
    while (pool.serveOne()) {
    }
    pool.forgetUnused();
    pool.armTimer();
}

const std::shared_ptr<ClientPool>& ClientPools::of(const std::shared_ptr<const ClientOptions>& client) {
    for (const auto& pool : pools_) {
        if (pool->options() == client) return pool;
    }
    // Drops the pools of destroyed clients, except those that still have connections in use or waiting requests.
    std::erase_if(pools_, [](const auto& pool) { return pool->options().use_count() == 1 && !pool->inUse(); });
    return pools_.emplace_back(std::make_shared<ClientPool>(client));
}

}  // namespace weft::http
