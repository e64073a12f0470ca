#include <weft/pipeline/socket_address.hpp>

#include <gtest/gtest.h>

#include <string>

#include <net/if.h>

namespace weft {
namespace {

using namespace std::string_view_literals;

std::string refusalOf(std::string_view text) {
    try {
        SocketAddress::parse(text);
        return "accepted";
    } catch (const std::invalid_argument& refusal) {
        return refusal.what();
    }
}

TEST(SocketAddress, ParsesAnIpv4AddressAndPort) {
    const SocketAddress address = SocketAddress::parse("10.1.2.3:8080");
    EXPECT_EQ(address.family(), AF_INET);
    EXPECT_EQ(address.host(), "10.1.2.3");
    EXPECT_EQ(address.port(), 8080);
    EXPECT_EQ(address.size(), sizeof(sockaddr_in));
    EXPECT_EQ(address.toString(), "10.1.2.3:8080");
}

TEST(SocketAddress, ParsesABracketedIpv6AddressAndPrintsItBack) {
    const SocketAddress address = SocketAddress::parse("[::1]:443");
    EXPECT_EQ(address.family(), AF_INET6);
    EXPECT_EQ(address.size(), sizeof(sockaddr_in6));
    EXPECT_TRUE(address.isLoopback());
    EXPECT_EQ(address.toString(), "[::1]:443");
    EXPECT_EQ(address, SocketAddress("::1", 443));
}

TEST(SocketAddress, PrintsEachIpv4AddressBack) {
    for (const char* host : {"0.0.0.0", "1.20.100.9", "127.0.0.1", "255.255.255.255"}) {
        EXPECT_EQ(SocketAddress(host, 7).host(), host);
        EXPECT_EQ(SocketAddress(host, 7).toString(), std::string(host) + ":7");
    }
}

TEST(SocketAddress, AnEmptyHostMeansAnyAddress) {
    EXPECT_EQ(SocketAddress::parse(":80"), SocketAddress("0.0.0.0", 80));
}

TEST(SocketAddress, ARefusalQuotesTheTextAndNamesThePart) {
    EXPECT_NE(refusalOf("127.0.0.1").find("\"127.0.0.1\" is not an address: expected ADDR:PORT"), std::string::npos);
    EXPECT_NE(refusalOf("127.0.0.1:70000").find("0 to 65535"), std::string::npos);
    EXPECT_NE(refusalOf("127.0.0.1:").find("0 to 65535"), std::string::npos);
    EXPECT_NE(refusalOf("127.0.0.1:8x").find("0 to 65535"), std::string::npos);
    EXPECT_NE(refusalOf("localhost:80").find("numeric"), std::string::npos);
    EXPECT_NE(refusalOf("::1:80").find("brackets"), std::string::npos);
    EXPECT_NE(refusalOf("[]:80").find("numeric"), std::string::npos);
}

TEST(SocketAddress, ALinkLocalAddressHasAZone) {
    const std::uint32_t loopback = if_nametoindex("lo");
    ASSERT_NE(loopback, 0u);
    for (const char* host : {"fe80::1", "febf:1::2", "ff02::1"}) {
        const SocketAddress byName(std::string(host) + "%lo", 80);
        EXPECT_EQ(byName.host(), std::string(host) + "%" + std::to_string(loopback));
        EXPECT_EQ(SocketAddress(byName.host(), 80), byName);
        EXPECT_EQ(SocketAddress::parse(byName.toString()), byName);
        EXPECT_EQ(SocketAddress::parse("[" + std::string(host) + "%lo]:80"), byName);
        EXPECT_EQ(SocketAddress::from(byName.data(), byName.size()), byName);
        EXPECT_FALSE(SocketAddress(host, 80) == byName);
    }
    EXPECT_EQ(SocketAddress("fe80::1%4294967295", 1).host(), "fe80::1%4294967295");
    EXPECT_EQ(SocketAddress("fe80::1", 1).host(), "fe80::1");
}

TEST(SocketAddress, AnInvalidZoneIsRefusedWithTheAcceptedForms) {
    for (const char* text :
         {"[fe80::1%]:1", "[fe80::1%0]:1", "[fe80::1%nowhere0]:1", "[fe80::1%4294967296]:1",
          "[fe80::1%aVeryLongNameOfAnInterface]:1", "[::1%lo]:1", "127.0.0.1%lo:1", "[%lo]:1", "[fe80::1%lo%lo]:1"}) {
        EXPECT_NE(refusalOf(text), "accepted") << text;
    }
    const auto refusal = [](std::string_view host) -> std::string {
        try {
            SocketAddress(host, 1);
            return "accepted";
        } catch (const std::invalid_argument& refused) {
            return refused.what();
        }
    };
    EXPECT_NE(refusal("fe80::1%nowhere0").find("name or the number of a network interface"), std::string::npos);
    EXPECT_NE(refusal("::1%lo").find("only a link-local address"), std::string::npos);
}

// A host filter sees the whole text, but inet_pton() only what precedes the NUL.
TEST(SocketAddress, AnEmbeddedNulIsRefusedAndShown) {
    using namespace std::string_literals;
    for (const std::string& host :
         {"127.0.0.1\0.example.com"s, "127.0.0.1\0"s, "\0"s, "::1\0"s, "[::1\0]"s, "fe80::1\0%lo"s, "fe80::1%lo\0"s,
          "\0"
          "127.0.0.1"s}) {
        try {
            SocketAddress address(host, 80);
            ADD_FAILURE() << "accepted as " << address.toString();
        } catch (const std::invalid_argument& refused) {
            EXPECT_NE(std::string(refused.what()).find("\\x00"), std::string::npos) << refused.what();
        }
    }
    EXPECT_NE(refusalOf("127.0.0.1\0.example.com:80"sv).find("127.0.0.1\\x00.example.com"), std::string::npos);
    EXPECT_NE(refusalOf("a\nb:80").find("a\\x0ab"), std::string::npos);
}

TEST(SocketAddress, AnEmptyOneHasNoSizeAndSaysSo) {
    EXPECT_TRUE(SocketAddress().empty());
    EXPECT_EQ(SocketAddress().size(), 0u);
    EXPECT_EQ(SocketAddress().toString(), "(none)");
    EXPECT_EQ(SocketAddress(), SocketAddress());
    EXPECT_FALSE(SocketAddress() == SocketAddress::anyV4(0));
}

TEST(SocketAddress, CopiesWhatASocketCallReturned) {
    const SocketAddress original("192.168.0.7", 99);
    EXPECT_EQ(SocketAddress::from(original.data(), original.size()), original);
}

}  // namespace
}  // namespace weft
