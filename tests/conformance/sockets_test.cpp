// The conformance kit for sockets over all available transports, over io_uring with minimal resources, and with a
// filter between the channels and their transport.
#include <weft/testing/channel_rules.hpp>
#include <weft/testing/sockets_conformance.hpp>

#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>
#include <weft/transports/uring/uring_support.hpp>

#include "pipeline/filtered_stage.hpp"

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

// The clients know no filter, so this one leaves the bytes as they are.
std::vector<SocketsUnderTest> filtered() {
    std::vector<SocketsUnderTest> all = transports();
    for (SocketsUnderTest& each : all) {
        each.name += "Filtered";
        each.onConnection = [](Channel& channel) { channel.addFilter(std::make_unique<XorFilter>('\0')); };
    }
    return all;
}

std::vector<RuleStage> stages() {
    std::vector<RuleStage> all;
    for (const SocketsUnderTest& sockets : transports()) {
        all.push_back(onSockets(sockets));
        all.push_back(
            {sockets.name + "Filtered", [sockets] { return std::make_unique<FilteredStage<SocketsStage>>(sockets); }});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Transports, SocketsConformance, ::testing::ValuesIn(transports()), nameOfSockets);
INSTANTIATE_TEST_SUITE_P(Filtered, SocketsConformance, ::testing::ValuesIn(filtered()), nameOfSockets);
INSTANTIATE_TEST_SUITE_P(Transports, ChannelRules, ::testing::ValuesIn(stages()), nameOfStage);

}  // namespace
}  // namespace weft::test
