// TcpListener: a listening TCP socket whose connections fibers accept with a plain blocking call.
#pragma once

#include <limits>
#include <memory>

#include <weft/transports/tcp_stream.hpp>

namespace weft {

class FiberListener;

struct TcpListenOptions {
    bool reuseAddress = true;
    bool reusePort = false;                         // several listeners on one port; the kernel spreads connections
    int backlog = std::numeric_limits<int>::max();  // connections; the kernel caps it at net.core.somaxconn
    bool noDelay = true;                            // TCP_NODELAY on accepted streams
};

// Context, blocking and errors as for TcpStream. Any number of fibers may accept at once.
class TcpListener {
  public:
    // Port 0 lets the kernel choose a port: see localAddress(). Throws std::logic_error as TcpStream::connect does.
    static TcpListener listen(const SocketAddress& local, TcpListenOptions options = {});
    static TcpListener listen(const SocketAddress& local, TcpListenOptions options, ErrorCode& error);

    TcpListener() noexcept;  // closed
    TcpListener(TcpListener&&) noexcept;
    TcpListener& operator=(TcpListener&&) noexcept;
    ~TcpListener();

    // Returns the next connection, as a stream of this carrier. On EMFILE, ENFILE, ENOBUFS and ENOMEM the connection
    // stays in the backlog and every waiting fiber gets the error. Free a resource or sleep before the next call, or it
    // fails again at once.
    TcpStream accept(Deadline deadline = never);
    TcpStream accept(ErrorCode& error) { return accept(never, error); }
    TcpStream accept(Deadline deadline, ErrorCode& error);

    // Closes; waiting acceptors get operation_aborted. Idempotent.
    void close() noexcept;
    bool isOpen() const noexcept;
    SocketAddress localAddress() const;  // empty when closed

  private:
    TcpListener(Carrier& carrier, std::unique_ptr<FiberListener> listener) noexcept;

    Carrier* carrier_ = nullptr;
    std::unique_ptr<FiberListener> listener_;
};

}  // namespace weft
