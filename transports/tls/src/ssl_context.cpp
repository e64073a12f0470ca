#include <weft/tls/ssl_context.hpp>

#include "ssl_context_state.hpp"

namespace weft {

SslContext SslContext::server(const SslServerOptions& options) {
    return SslContext(State::makeServer(options));
}

SslContext SslContext::client(const SslClientOptions& options) {
    return SslContext(State::makeClient(options));
}

SslContext SslContext::client() {
    return client(SslClientOptions());
}

bool SslContext::isServer() const noexcept {
    return state_->isServer;
}

}  // namespace weft
