// TlsStream: a TLS connection that fibers use with plain blocking calls.
#pragma once

#include <chrono>
#include <string_view>
#include <utility>

#include <weft/pipeline/ssl_session.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/tls/ssl_context.hpp>
#include <weft/tls/ssl_context_source.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft {

struct TlsStreamOptions {
    // From the construction: a peer that stops in the handshake holds 77 KiB. 0: no limit.
    Duration handshakeTimeout = std::chrono::seconds(10);
};

// Used as the TcpStream that it is, with that contract, and may be moved into one. The first call that reads or writes
// shakes hands. What differs:
// * Errors are SslErrors, too; the throwing calls also say what libssl does. After one of them, and after a handshake
//   that took too long (ETIMEDOUT), all calls fail with it.
// * An end of the stream without the peer's close_notify is SslError::truncated.
// * shutdownOutput() sends a close_notify after all that was written; it may wait for that, and for the handshake if it
//   has not been done. It fails with EAGAIN while the peer has sent half of a key update. Reading goes on.
// * close() and the destructor end the output in the same way if the socket takes it at once. They discard bytes that
//   tryWrite(), or a write() that has failed, has taken and the socket has not. As with TCP, what arrives after a close
//   may cost the peer the last bytes: shutdownOutput() and a read up to the end are sure.
// * A write() that fails has taken the bytes that it returns. They are sent, by a fiber of the stream's own, as long as
//   the stream is open; a second write() goes on behind them.
// * tryRead() and tryWrite() fail with EAGAIN before the handshake is done. tryRead() does so, too, when only a part of
//   a record has arrived, and takes a call more for each message of TLS itself.
// * Moving a plain TcpStream into it by a reference to TcpStream makes it plain: handshake() then fails with
//   EPROTONOSUPPORT.
// While a fiber waits in read(), no memory of the stream's own is in use besides libssl's.
class TlsStream : public TcpStream {
  public:
    TlsStream() noexcept = default;  // closed
    // A server's side of `socket`, which becomes closed. Throws std::invalid_argument for a client's context or a
    // negative timeout, std::bad_alloc.
    TlsStream(TcpStream socket, const SslContext& server, const TlsStreamOptions& options = {});
    TlsStream(TcpStream socket, const SslContextSource& server, const TlsStreamOptions& options = {})
        : TlsStream(std::move(socket), server.context(), options) {}
    // A client's side; `serverName` as for SslEngine, which may throw. Throws std::invalid_argument for a server's
    // context, too.
    TlsStream(TcpStream socket, const SslContext& client, std::string_view serverName,
              const TlsStreamOptions& options = {});
    TlsStream(TcpStream socket, const SslContextSource& client, std::string_view serverName,
              const TlsStreamOptions& options = {})
        : TlsStream(std::move(socket), client.context(), serverName, options) {}

    // Shakes hands, unless that has been done. Blocks the fiber; errors as for read(). Counts as reading and writing.
    void handshake();
    void handshake(ErrorCode& error);

    // What was negotiated. Not for a closed-by-construction or moved-from stream. Lifetime: the stream's.
    const SslSession& session() const noexcept;
};

}  // namespace weft
