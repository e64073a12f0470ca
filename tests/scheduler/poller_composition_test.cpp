// Pollers compose: one with a pollable descriptor may be nested under another. The whole conformance kit runs on the
// composition, with thousands of events and wake-ups racing with the outer poller's sleep.
#include <weft/testing/poller_conformance.hpp>
#include "support/sample_pollers.hpp"

namespace weft::test {
namespace {

using Compositions = ::testing::Types<OuterPoller<WakeUp::outside>, OuterPoller<WakeUp::nested>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Nested, PollerConformance, Compositions);
INSTANTIATE_TYPED_TEST_SUITE_P(Nested, SleepingPollerConformance, Compositions);
INSTANTIATE_TYPED_TEST_SUITE_P(Nested, GapConformance, Compositions);

}  // namespace
}  // namespace weft::test
