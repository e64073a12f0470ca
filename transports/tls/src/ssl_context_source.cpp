#include <weft/tls/ssl_context_source.hpp>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace weft {

struct SslContextSource::Shared {
    std::mutex lock;  // guards the context
    SslContext context;
};

SslContextSource::SslContextSource(SslContext context) : shared_(new Shared{{}, std::move(context)}) {}

SslContext SslContextSource::context() const {
    const std::lock_guard held(shared_->lock);
    return shared_->context;
}

// The former context is freed outside of the lock.
void SslContextSource::exchange(SslContext context) {
    const std::lock_guard held(shared_->lock);
    if (context.isServer() != shared_->context.isServer())
        throw std::invalid_argument("SslContextSource::exchange(): the context is of the other side");
    std::swap(shared_->context, context);
}

}  // namespace weft
