#include <weft/framework/bootstrap.hpp>

#include <stdexcept>
#include <string>

#include "connect_attempts.hpp"
#include "loop_set.hpp"

namespace weft {

using detail::ConnectAttempts;
using detail::ConnectPlan;

Bootstrap& Bootstrap::retry(unsigned times, Duration pause) {
    if (times > mostRetries || pause < Duration::zero()) {
        throw std::invalid_argument("Bootstrap::retry(): " + std::to_string(times) + " times with a pause of " +
                                    std::to_string(pause.count()) + " ns; accepted: 0 to " +
                                    std::to_string(mostRetries) + " times, and a pause of 0 or more");
    }
    retries_ = times;
    pause_ = pause;
    return *this;
}

ConnectPlan Bootstrap::plan() const {
    return {setup_, local_, retries_ + 1, pause_};
}

ChannelFuture Bootstrap::connect(const SocketAddress& remote, EventLoop& loop) const {
    if (retries_ == 0) return detail::connectOnce(plan(), loop, remote);
    const auto attempts = ConnectAttempts::create(loop, plan(), remote.toString());
    attempts->start({remote});
    return attempts->future();
}

ChannelFuture Bootstrap::connect(std::string_view host, std::uint16_t port) const {
    if (detail::isNumericHost(host)) return connect(SocketAddress(host, port));
    detail::requireHostName(host);
    const auto attempts =
        ConnectAttempts::create(group_->next(), plan(), std::string(host) + ":" + std::to_string(port));
    const std::shared_ptr<detail::Lookups> lookups = group_->loopSet()->lookups();
    if (!lookups->add(attempts)) {
        attempts->abort();
        return attempts->future();
    }
    try {
        resolver_->resolve(host, port).addListener([lookups, attempts](const Future<Resolver::Addresses>& addresses) {
            lookups->answer(attempts, addresses);
        });
    } catch (...) {
        lookups->forget(attempts);
        throw;
    }
    return attempts->future();
}

}  // namespace weft
