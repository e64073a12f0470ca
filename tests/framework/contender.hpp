// Contender: a server that contends for a port with others, which may be in other processes.
#pragma once

#include <weft/framework/server_bootstrap.hpp>

#include "framework/bench.hpp"

namespace weft::test {

// A group of its own, a bind per round.
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
    bool owns() const { return server_.valid(); }
    // Whether the last bind had the port, which is given up.
    bool giveUp() {
        if (!owns()) return false;
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
