// SslContextSource: the context of new connections, which may be exchanged while the program runs.
#pragma once

#include <memory>

#include <weft/tls/ssl_context.hpp>

namespace weft {

// A copy gives the same context. Connections keep the one with which they were made. Context: any thread; never blocks
// for longer than a copy takes.
class SslContextSource {
  public:
    explicit SslContextSource(SslContext context);

    SslContext context() const;
    // Throws std::invalid_argument for a context of the other side; then the former one stays.
    void exchange(SslContext context);

    // As that of an SslContext; each connection asks for the context.
    operator std::shared_ptr<const StreamSecurity>() const;

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace weft
