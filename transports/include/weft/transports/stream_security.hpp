// StreamSecurity: makes the connections of clients secure. http::Client knows only this; with weft::tls, an SslContext
// is one.
#pragma once

#include <memory>
#include <string>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft {

// The outcome of securing a stream.
struct SecuredStream {
    TcpStream stream;  // closed after an error
    ErrorCode error;
    std::string text;                 // what is known of the error besides its code; may be empty
    std::string applicationProtocol;  // that both sides have agreed upon (ALPN); empty: none
};

// Context: any thread for the object; secure(): a fiber of the stream's carrier.
class StreamSecurity {
  public:
    virtual ~StreamSecurity() = default;
    // Returns a stream whose bytes travel on `stream` in a secure form, once the peer has proved to be `serverName`, a
    // host name or a numeric address. Blocks the fiber, until `deadline` at most. Throws std::bad_alloc, and
    // std::invalid_argument for a name that nobody can have.
    virtual SecuredStream secure(TcpStream stream, const std::string& serverName, Deadline deadline) const = 0;
};

// What a program that names no other uses: TLS that trusts the system's authorities, if the program is linked with
// weft::tls; else null. The first call reads files, so it blocks; it throws ConfigurationError for those. Context: any
// thread.
std::shared_ptr<const StreamSecurity> linkedStreamSecurity();

}  // namespace weft
