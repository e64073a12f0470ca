// Connects from fibers and by channels to unused ports of the ephemeral range. The kernel often connects such a socket
// to itself: each such connect is refused, and leaves the port free for a later server.
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/transports/tcp_stream.hpp>

#include "chaos/chaos.hpp"
#include "framework/bench.hpp"
#include "support/watchdog.hpp"
#include "transports/counting_system_calls.hpp"
#include "transports/listenable.hpp"

namespace weft::test {
namespace {

constexpr int fibers = 8;

SocketAddress anyEphemeral(Dice& dice) {
    static const auto range = [] {
        std::pair<unsigned, unsigned> ports{32768, 60999};
        std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> ports.first >> ports.second;
        return ports;
    }();
    return SocketAddress::loopbackV4(static_cast<std::uint16_t>(dice.between(range.first, range.second)));
}

// A port in use, by any process, proves nothing.
bool concernsPort(ErrorCode error) {
    return error == fromErrno(EADDRINUSE) || error == fromErrno(EADDRNOTAVAIL);
}

// In any state, including TIME_WAIT. If other processes use the port, the two ends of their connections differ.
bool isConnectedToItself(const SocketAddress& port) {
    char ends[32];
    std::snprintf(ends, sizeof ends, "0100007F:%04X 0100007F:%04X", port.port(), port.port());
    std::ifstream connections("/proc/net/tcp");
    for (std::string line; std::getline(connections, line);) {
        if (line.find(ends) != std::string::npos) return true;
    }
    return false;
}

class Callers {
  public:
    void run() {
        calls_.connectsToItself = true;
        std::vector<JoinHandle<void>> all;
        for (int i = 0; i < fibers; ++i) {
            all.push_back(host_.carrier().spawn([this, i] {
                for (Dice dice(static_cast<std::uint64_t>(i)); run_.goesOn(); run_.count(), watchdog_.advance()) {
                    const SocketAddress port = anyEphemeral(dice);
                    if (!canBeListenedOn(port)) continue;
                    dice.oneIn(2) ? byStream(port) : byChannel(port);
                    if (!becomesFree(port)) wrong("the port is not free after a refused connect");
                }
            }));
        }
        for (auto& fiber : all) fiber.join();
    }

  private:
    void byStream(const SocketAddress& port) {
        ErrorCode error;
        const TcpStream stream = TcpStream::connect(port, error);
        if (!error && stream.localAddress() == port) wrong("a fiber is connected to itself");
        if (error && error != fromErrno(ECONNREFUSED) && !concernsPort(error))
            wrong("a fiber's connect: " + error.message());
    }
    void byChannel(const SocketAddress& port) {
        const ChannelFuture connected =
            Bootstrap(group_).handler([](Channel&) {}).localAddress(port).connect(port).await();
        if (connected.success()) return wrong("a channel is connected to itself");
        const ErrorCode error = connected.error() ? connected.error() : errorCodeOf(connected.cause());
        if (error != fromErrno(ECONNREFUSED) && !concernsPort(error)) wrong("a channel's connect: " + error.message());
        if (ChannelRef channel = connected.channel()) channel->closeFuture().await();
    }
    static bool becomesFree(const SocketAddress& port) {
        for (const Deadline end = testDeadline(); !canBeListenedOn(port) && isConnectedToItself(port);) {
            if (std::chrono::steady_clock::now() > end) return false;
            thisFiber::sleepFor(1ms);
        }
        return true;
    }

    ChaosRun run_{"connects"};
    CountingSystemCalls calls_;
    EventLoopGroup group_{groupOptions(1)};
    SocketLoops host_{1, calls_};
    Watchdog watchdog_{host_.group()};
};

TEST(SocketChaos, NoSocketConnectsToItself) {
    Callers().run();
}

}  // namespace
}  // namespace weft::test
