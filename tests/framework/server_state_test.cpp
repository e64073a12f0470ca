// ServerState without a server: what a drain waits for while a bind is in progress.
#include "server_state.hpp"

#include <memory>

#include "framework/bench.hpp"
#include "loop_set.hpp"

namespace weft::test {
namespace {

using detail::ServerState;

std::shared_ptr<ServerState> newServer(EventLoopGroup& group) {
    return std::make_shared<ServerState>(*group.loopSet(), detail::PipelineSetup(), anyPort);
}

TEST(ServerState, ADrainsFutureCompletesOnceTheBindUnderWayHasFailed) {
    EventLoopGroup group(groupOptions(1));
    const auto server = newServer(group);
    const Future<void> ended = server->startDrain();
    EXPECT_FALSE(ended.done()) << "the bind may still make a listener";
    EXPECT_FALSE(server->mayBind());
    EXPECT_FALSE(server->finishBind());
    EXPECT_FALSE(ended.done()) << "what the bind has made is still there";
    server->abandon();
    EXPECT_TRUE(ended.awaitUntil(testDeadline()));
}

TEST(ServerState, ADrainAfterTheBindHasFailedWaitsForNothing) {
    EventLoopGroup group(groupOptions(1));
    const auto server = newServer(group);
    server->abandon();
    EXPECT_TRUE(server->startDrain().awaitUntil(testDeadline()));
}

TEST(ServerState, ADrainAfterTheBindWaitsForTheListenersOnly) {
    EventLoopGroup group(groupOptions(1));
    const auto server = newServer(group);
    ASSERT_TRUE(server->finishBind());
    EXPECT_TRUE(server->startDrain().awaitUntil(testDeadline()));
}

}  // namespace
}  // namespace weft::test
