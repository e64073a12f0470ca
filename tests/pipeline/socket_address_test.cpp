#include <weft/pipeline/socket_address.hpp>

#include <gtest/gtest.h>

namespace weft {
namespace {

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
