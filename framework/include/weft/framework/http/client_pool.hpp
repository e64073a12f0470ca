// ClientPool: the idle keep-alive connections of http::get() on one carrier. Made by Carrier::local<ClientPool>().
#pragma once

#include <cstddef>
#include <vector>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/timer_wheel.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft {
struct SocketIoHandler;
}

namespace weft::http {

// Context: fibers of its carrier. Only take() may block, see there. The last connection put in is the first taken out, so
// that the others grow old; a timer closes those that have been idle for too long.
class ClientPool final : private TimerEntry {
  public:
    static constexpr std::size_t maxIdlePerBackend = 64;  // connections: as many calls at once reuse theirs
    static constexpr std::size_t maxIdle = 1024;          // connections, all backends together
    static constexpr Duration idleTime = std::chrono::seconds(30);  // shorter than what most servers grant
    // A connection that was idle for longer is asked whether its peer has ended it or sent something unasked for.
    static constexpr Duration trustedTime = std::chrono::milliseconds(100);

    ClientPool() noexcept;
    ~ClientPool();

    // A connection that was idle, or a closed stream when there is none. Blocks the fiber for a turn of its loop for each
    // connection that is past trustedTime; never for a peer.
    TcpStream take(const SocketAddress& backend);
    // Keeps a connection whose last response was read to its end.
    void put(const SocketAddress& backend, TcpStream stream);
    // Closes the idle connections of a backend: one of them was found dead, the others are as old.
    void drop(const SocketAddress& backend) noexcept;
    std::size_t idle() const noexcept { return idle_.size(); }

  private:
    struct Idle {
        SocketAddress backend;
        TcpStream stream;
        TimePoint since;
        SocketIoHandler* home;  // a stream of a loop that has been replaced is of no use
    };

    static void expire(TimerEntry& entry) noexcept;
    void closeExpired() noexcept;
    void armTimer() noexcept;

    std::vector<Idle> idle_;  // oldest first
};

}  // namespace weft::http
