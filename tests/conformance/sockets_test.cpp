// The conformance kit for sockets over all available transports, and over io_uring with minimal resources.
#include <weft/testing/channel_rules.hpp>
#include <weft/testing/sockets_conformance.hpp>

#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>
#include <weft/transports/uring/uring_support.hpp>

namespace weft::test {
namespace {

SocketsUnderTest epoll() {
    return {"Epoll", [] { return std::make_unique<EpollIoHandler>(); }};
}

SocketsUnderTest uring(std::string name, UringOptions options) {
    return {std::move(name), [options] { return std::make_unique<UringIoHandler>(options); }};
}

std::vector<SocketsUnderTest> transports() {
    std::vector<SocketsUnderTest> all{epoll()};
    if (!UringSupport::ofThisProcess().available()) return all;
    all.push_back(uring("Uring", {}));
    all.push_back(uring("UringOfOneEntry", {.entries = 1}));
    all.push_back(uring("UringOfFewBuffers", {.smallBuffers = 2, .largeBuffers = 1}));
    return all;
}

std::vector<RuleStage> stages() {
    std::vector<RuleStage> all;
    for (SocketsUnderTest& sockets : transports()) all.push_back(onSockets(std::move(sockets)));
    return all;
}

INSTANTIATE_TEST_SUITE_P(Transports, SocketsConformance, ::testing::ValuesIn(transports()), nameOfSockets);
INSTANTIATE_TEST_SUITE_P(Transports, ChannelRules, ::testing::ValuesIn(stages()), nameOfStage);

}  // namespace
}  // namespace weft::test
