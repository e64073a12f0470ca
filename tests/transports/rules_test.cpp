// The rules that a transport could break, in memory and on epoll with scripted system calls. A failure only here, or
// only in tests/conformance, shows which layer breaks the rule.
#include <weft/testing/channel_rules.hpp>

#include "pipeline/filtered_stage.hpp"
#include "transports/rule_stages.hpp"

namespace weft::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Scripted, ChannelRules,
                         ::testing::Values(RuleStage{"InMemory", [] { return std::make_unique<MemoryStage>(); }},
                                           RuleStage{"ScriptedEpoll", [] { return std::make_unique<ScriptedStage>(); }},
                                           RuleStage{"InMemoryFiltered",
                                                     [] { return std::make_unique<FilteredStage<MemoryStage>>(); }},
                                           RuleStage{"ScriptedEpollFiltered",
                                                     [] { return std::make_unique<FilteredStage<ScriptedStage>>(); }}),
                         nameOfStage);

}  // namespace
}  // namespace weft::test
