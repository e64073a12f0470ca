// ChaoticServer: a Weft server that answers each request in the way that its target names (How).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include <weft/weft.hpp>

#include "framework/bench.hpp"

namespace weft::test {

class ChaoticServer {
  public:
    // Its handlers get whole requests, or requests whose body is on its way; and what the end of a client's output means.
    struct Kind {
        bool streamed;
        http::InputEnd inputEnd;
    };
    static constexpr std::array kinds{Kind{false, http::InputEnd::cancel}, Kind{true, http::InputEnd::cancel},
                                      Kind{false, http::InputEnd::answer}, Kind{true, http::InputEnd::answer}};

    ChaoticServer();

    const SocketAddress& address(std::size_t kind) const { return servers_[kind].localAddress(); }
    CarrierGroup& carriers() { return group_.carriers(); }
    // Whether requests that are `held` wait.
    static void hold(bool on);
    // Says what is left when a connection, or a fiber of one, does not end although all clients have.
    void awaitIdle();

  private:
    void serve(std::size_t kind);
    std::size_t connections() const;

    EventLoopGroup group_{groupOptions(2)};
    std::array<Server, kinds.size()> servers_;
};

}  // namespace weft::test
