// Shared by the tests of ServerBootstrap::childFiber(): a fixture for each transport.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "framework/bench.hpp"
#include "support/log_capture.hpp"

namespace weft::test {

inline void echo(TcpStream stream) {
    for (Buffer bytes = stream.read(4096); !bytes.empty(); bytes = stream.read(4096)) stream.write(bytes.view());
}

class ChildFiberTest : public ::testing::TestWithParam<Transport::Kind> {
  protected:
    EventLoopGroup& group(unsigned carriers = 1) {
        EventLoopGroupOptions options = groupOptions(carriers);
        options.transport = GetParam();
        return group_.emplace(options);
    }
    template <class F>
    Server serve(EventLoopGroup& group, F fn, const SpawnOptions& options = {}) {
        ServerBootstrap bootstrap(group);
        return bootstrap.childFiber(std::move(fn), options).bind(anyPort).sync().channel();
    }
    static bool isEmptied(const Server& server) {
        return eventually([&] { return server.liveChildren() == 0; });
    }

    DescriptorGuard descriptors_;
    std::optional<EventLoopGroup> group_;
};

}  // namespace weft::test
