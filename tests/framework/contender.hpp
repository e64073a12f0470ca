// Contender: a server that wants a port, beside others that want it, too.
#pragma once

#include <weft/framework/server_bootstrap.hpp>

#include "framework/bench.hpp"

namespace weft::test {

// One server program of several: a group of its own, a bind per round, all at the same time.
class Contender {
  public:
    explicit Contender(AcceptMode mode) : group_(groupOptions(2)), mode_(mode) {}

    void bindOnce(const SocketAddress& address) {
        ServerBootstrap bootstrap(group_);
        bootstrap.acceptMode(mode_).childHandler([](Channel&) {});
        const BindFuture bound = bootstrap.bind(address);
        bound.await();
        if (!bound.cause()) {
            server_ = bound.channel();
        } else {
            error_ = errorCodeOf(bound.cause());
        }
    }
    // Whether the last bind has the port.
    bool bound() const { return server_.valid(); }
    // The same, and the port is given up.
    bool giveUp() {
        if (!bound()) return false;
        server_.close().get();
        server_ = {};
        return true;
    }
    ErrorCode error() const { return error_; }

  private:
    EventLoopGroup group_;
    const AcceptMode mode_;
    Server server_;
    ErrorCode error_;
};

}  // namespace weft::test
