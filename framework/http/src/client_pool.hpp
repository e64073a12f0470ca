// ClientPool: the connections of one http::Client on one carrier, idle and in use, and the requests that wait for one.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/http/client_options.hpp>
#include <weft/http/origin.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/task.hpp>
#include <weft/scheduler/timer_wheel.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft {
struct SocketIoHandler;
}

namespace weft::http {

// A connection, shared with a fiber that may still be sending on it when the exchange gives it up.
struct PooledConnection {
    TcpStream stream;
    SocketIoHandler* home = nullptr;  // a stream of a loop that has since been replaced is useless
    TimePoint idleSince{};            // when it last entered the pool; bytes that arrived since belong to no request
    bool sending = false;             // a fiber is sending a request's body
};

// Context: fibers of its carrier. Only acquire() may block. Idle connections are reused last in, first out, so that
// unneeded ones age; a timer closes those that exceed the idle time.
class ClientPool final : private TimerEntry {
    struct Host;

  public:
    // One of a host's permitted connections: a place, and the connection in it. After that connection is closed, a new
    // one may take the place. Move-only; the destructor closes the connection and gives up the place. The pool must
    // outlive it.
    class Lease {
      public:
        Lease() noexcept = default;
        Lease(Lease&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)),
              host_(other.host_),
              connection_(std::move(other.connection_)) {}
        Lease& operator=(Lease&& other) noexcept;
        ~Lease() { release(); }

        bool valid() const noexcept { return pool_ != nullptr; }
        TcpStream& stream() noexcept { return connection_->stream; }
        const std::shared_ptr<PooledConnection>& connection() const noexcept { return connection_; }
        bool isOpen() const noexcept { return connection_ && connection_->stream.isOpen(); }
        void fill(TcpStream stream);
        void close() noexcept;  // keeps the place
        // Returns the connection to the pool; the last response must be fully read and the last request fully sent.
        void keep() noexcept;
        void release() noexcept;

      private:
        friend class ClientPool;
        Lease(ClientPool& pool, Host& host, std::shared_ptr<PooledConnection> connection) noexcept
            : pool_(&pool), host_(&host), connection_(std::move(connection)) {}

        ClientPool* pool_ = nullptr;  // null: neither a place nor a connection
        Host* host_ = nullptr;
        std::shared_ptr<PooledConnection> connection_;
    };

    explicit ClientPool(std::shared_ptr<const ClientOptions> options) noexcept;
    ~ClientPool();

    // Returns an idle connection, or else a place for a new one. When the limits allow neither, waits in FIFO order, at
    // most until `deadline`. Checks each idle connection that it considers with one recv(); if there is anything to
    // read or the peer has ended it, closes it and counts it as stale. No other fiber runs between that check and the
    // return, so send the request before the next call that may wait or yield.
    Lease acquire(const Origin& origin, Deadline deadline, ErrorCode& error);
    // Closes the idle connections of a host. Called after one was found dead, because the others are as old.
    void drop(const Lease& lease) noexcept;

    const std::shared_ptr<const ClientOptions>& options() const noexcept { return options_; }
    ClientStats& stats() noexcept { return stats_; }
    ClientStats statsNow() const noexcept;
    bool inUse() const noexcept { return total_ != idle_ || !waiters_.empty(); }

  private:
    struct Host {
        std::vector<std::shared_ptr<PooledConnection>> idle;  // oldest first
        std::size_t open = 0;                                 // places taken, idle and in use
        std::size_t waiting = 0;
    };
    struct OriginHash {
        std::size_t operator()(const Origin& origin) const noexcept {
            return std::hash<std::string>()(origin.host()) * 31 + origin.port();  // rarely two schemes
        }
    };
    struct Waiter {
        Host* host;
        WakeKey key;
        Lease lease;  // granted when valid
    };
    using Hosts = std::unordered_map<Origin, Host, OriginHash>;

    Host& hostOf(const Origin& origin);
    Lease tryTake(Host& host);
    std::shared_ptr<PooledConnection> popIdle(Host& host) noexcept;
    Lease waitFor(Host& host, Deadline deadline, ErrorCode& error);
    void put(Host& host, std::shared_ptr<PooledConnection> connection);
    void releasePlace(Host& host) noexcept;
    bool serveOne();
    void closeIdle(Host& host, std::size_t index) noexcept;
    bool closeOldest() noexcept;
    void forgetUnused() noexcept;

    static void expire(TimerEntry& entry) noexcept;
    void armTimer() noexcept;
    Deadline endOfIdleness(TimePoint since) const noexcept;

    const std::shared_ptr<const ClientOptions> options_;
    Hosts hosts_;
    Hosts::value_type* lastUsed_ = nullptr;  // of hosts_; null: none
    std::list<Waiter*> waiters_;             // FIFO
    std::size_t total_ = 0;                  // places taken, over all hosts
    std::size_t idle_ = 0;
    ClientStats stats_;
};

// The pools of one carrier, one per client. Made by Carrier::local<ClientPools>().
class ClientPools {
  public:
    const std::shared_ptr<ClientPool>& of(const std::shared_ptr<const ClientOptions>& client);

  private:
    std::vector<std::shared_ptr<ClientPool>> pools_;
};

}  // namespace weft::http
