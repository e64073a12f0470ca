// An event loop that serves a Context follows the poller's protocol: the whole conformance kit, with events that arrive
// through Asio, and with those of a channel of the same loop.
#include <weft/testing/poller_conformance.hpp>

#include "asio/asio_pollers.hpp"

namespace weft::test {
namespace {

using ByAsio = ::testing::Types<AsioPoller>;
INSTANTIATE_TYPED_TEST_SUITE_P(Asio, PollerConformance, ByAsio);
INSTANTIATE_TYPED_TEST_SUITE_P(Asio, SleepingPollerConformance, ByAsio);
INSTANTIATE_TYPED_TEST_SUITE_P(Asio, TaskConformance, ByAsio);

using ByChannel = ::testing::Types<ChannelUnderAsio>;
INSTANTIATE_TYPED_TEST_SUITE_P(UnderAsio, PollerConformance, ByChannel);
INSTANTIATE_TYPED_TEST_SUITE_P(UnderAsio, SleepingPollerConformance, ByChannel);
INSTANTIATE_TYPED_TEST_SUITE_P(UnderAsio, TaskConformance, ByChannel);
INSTANTIATE_TYPED_TEST_SUITE_P(UnderAsio, OwnWorkConformance, ByChannel);

}  // namespace
}  // namespace weft::test
