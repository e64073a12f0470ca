// ChaoticServer: a Weft server that answers each request as its target demands (How).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include <weft/weft.hpp>

#include "framework/bench.hpp"

namespace weft::test {

class ChaoticServer {
  public:
    // Whether its handlers get whole requests or streamed ones; and how it treats the end of a client's output.
    struct Kind {
        bool streamed;
        http::InputEnd inputEnd;
    };
    static constexpr std::array kinds{Kind{false, http::InputEnd::cancel}, Kind{true, http::InputEnd::cancel},
                                      Kind{false, http::InputEnd::answer}, Kind{true, http::InputEnd::answer}};

    ChaoticServer();

    const SocketAddress& address(std::size_t kind) const { return servers_[kind].localAddress(); }
    CarrierGroup& carriers() { return group_.carriers(); }
    // Switches whether `held` requests wait.
    static void hold(bool on);
    // Fails, and reports what is left, when a connection or one of its fibers does not end after all clients have
    // ended.
    void awaitIdle();

  private:
    void serve(std::size_t kind);
    std::size_t connections() const;

    EventLoopGroup group_{groupOptions(2)};
    std::array<Server, kinds.size()> servers_;
};

}  // namespace weft::test
