// Contender: a server that competes for a port with others, possibly in other processes.
#pragma once

#include <weft/framework/server_bootstrap.hpp>

#include "framework/bench.hpp"

namespace weft::test {

// Has a group of its own; binds once per round.
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
    // Gives the port up. Returns whether the last bind had it.
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
