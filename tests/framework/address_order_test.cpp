#include <weft/framework/detail/address_order.hpp>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

TEST(AddressOrder, FamiliesAlternateAndKeepTheirOrder) {
    const SocketAddress a4("10.0.0.1", 80), b4("10.0.0.2", 80), c4("10.0.0.3", 80), a6("2001:db8::1", 80);
    EXPECT_EQ(alternating({a4, b4, c4, a6}), (Resolver::Addresses{a4, a6, b4, c4}));
    EXPECT_EQ(alternating({a6, a4, b4}), (Resolver::Addresses{a6, a4, b4}));
    EXPECT_EQ(alternating({b4, a4}), (Resolver::Addresses{b4, a4}));
    EXPECT_EQ(alternating({}), Resolver::Addresses{});
}

}  // namespace
}  // namespace weft::detail
