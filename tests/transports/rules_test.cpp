// The rules that a transport could break, in memory and on epoll with scripted system calls. A failure only here, or
// only in tests/conformance, shows which layer breaks the rule.
#include <weft/testing/channel_rules.hpp>

#include "transports/rule_stages.hpp"

namespace weft::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Scripted, ChannelRules,
                         ::testing::Values(RuleStage{"InMemory", [] { return std::make_unique<MemoryStage>(); }},
                                           RuleStage{"ScriptedEpoll",
                                                     [] { return std::make_unique<ScriptedStage>(); }}),
                         nameOfStage);

}  // namespace
}  // namespace weft::test
