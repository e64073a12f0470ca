// StreamSecurity: makes the connections of clients secure. http::Client knows only this; with weft::tls, an SslContext
// is one.
#pragma once

#include <memory>
#include <string>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft {

// Context: any thread for the object; secure(): a fiber of the stream's carrier.
class StreamSecurity {
  public:
    virtual ~StreamSecurity() = default;
    // Returns a stream whose bytes travel on `stream` in a secure form, once the peer has proved to be `serverName`, a
    // host name or a numeric address. On an error it returns a closed stream; `text` then says what is known besides
    // the code, and may be empty. Blocks the fiber, until `deadline` at most. Throws std::bad_alloc.
    virtual TcpStream secure(TcpStream stream, const std::string& serverName, Deadline deadline, ErrorCode& error,
                             std::string& text) const = 0;
};

// What a program that names no other uses: TLS that trusts the system's authorities, if the program is linked with
// weft::tls; else null. The first call reads files, so it blocks; it throws ConfigurationError for those. Context: any
// thread.
std::shared_ptr<const StreamSecurity> linkedStreamSecurity();

}  // namespace weft
