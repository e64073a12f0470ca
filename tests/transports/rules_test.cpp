// The rules that sockets could bend, in memory and on epoll with scripted system calls: a failure here and not in
// tests/conformance, or the other way round, says who bends them.
#include <weft/testing/channel_rules.hpp>

#include "transports/rule_stages.hpp"

namespace weft::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Scripted, ChannelRules,
                         ::testing::Values(RuleStage{"InMemory", [] { return std::make_unique<MemoryStage>(); }},
                                           RuleStage{"ScriptedEpoll", [] { return std::make_unique<ScriptedStage>(); }}),
                         nameOfStage);

}  // namespace
}  // namespace weft::test
