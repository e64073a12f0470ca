#include <weft/pipeline/handlers/ip_filter_handler.hpp>
#include <weft/testing/recorder.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../scripted_sink.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

using test::Events;
using test::ScriptedChannel;

constexpr IpFilterAction accept = IpFilterAction::accept;
constexpr IpFilterAction reject = IpFilterAction::reject;

bool matches(std::string_view network, std::string_view address) {
    return IpFilterRule(reject, network).matches(SocketAddress(address, 80));
}

TEST(IpFilterRule, ANetworkMatchesItsAddresses) {
    EXPECT_TRUE(matches("10.0.0.0/8", "10.255.1.2"));
    EXPECT_FALSE(matches("10.0.0.0/8", "11.0.0.0"));
    EXPECT_TRUE(matches("192.168.4.0/22", "192.168.7.255"));
    EXPECT_FALSE(matches("192.168.4.0/22", "192.168.8.0"));
    EXPECT_TRUE(matches("127.0.0.1", "127.0.0.1"));
    EXPECT_FALSE(matches("127.0.0.1", "127.0.0.2"));
    EXPECT_TRUE(matches("0.0.0.0/0", "255.255.255.255"));
    EXPECT_TRUE(matches("2001:db8::/33", "2001:db8:7fff::1"));
    EXPECT_FALSE(matches("2001:db8::/33", "2001:db8:8000::1"));
    EXPECT_TRUE(matches("::/0", "::1"));
    EXPECT_TRUE(matches("fe80::1", "fe80::1"));
}

TEST(IpFilterRule, FamiliesDoNotMatchEachOther) {
    EXPECT_FALSE(matches("0.0.0.0/0", "::1"));
    EXPECT_FALSE(matches("::/0", "127.0.0.1"));
    EXPECT_FALSE(IpFilterRule(reject, "::/0").matches(SocketAddress()));
}

// An IPv4 peer on a dual-stack listener has a mapped IPv6 address, which must not evade the IPv4 rules.
TEST(IpFilterRule, MappedIpv4AddressesCountAsIpv4) {
    EXPECT_TRUE(matches("10.0.0.0/8", "::ffff:10.1.2.3"));
    EXPECT_FALSE(matches("::/0", "::ffff:10.1.2.3"));
    EXPECT_TRUE(matches("::ffff:10.0.0.0/104", "10.1.2.3"));
    EXPECT_TRUE(matches("::ffff:10.1.2.3", "10.1.2.3"));
    EXPECT_EQ(IpFilterRule(accept, "::ffff:10.0.0.0/104").toString(), "accept 10.0.0.0/8");
}

TEST(IpFilterRule, TextAndBack) {
    for (const char* text : {"accept 10.0.0.0/8", "reject 127.0.0.1/32", "reject ::/0", "accept 2001:db8::/32"}) {
        EXPECT_EQ(IpFilterRule::parse(text).toString(), text);
    }
    EXPECT_EQ(IpFilterRule::parse("reject ::1").toString(), "reject ::1/128");
    EXPECT_EQ(IpFilterRule::parse("accept 1.2.3.4").action(), accept);
}

std::string errorOf(std::string_view text) {
    try {
        IpFilterRule::parse(text);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "accepted";
}

TEST(IpFilterRule, BadTextIsQuotedWithWhatIsWrong) {
    EXPECT_EQ(errorOf("allow 10.0.0.0/8"), "\"allow 10.0.0.0/8\" is not an IP filter rule: expected \"accept NETWORK\" "
                                           "or \"reject NETWORK\", like \"reject 10.0.0.0/8\"");
    EXPECT_EQ(errorOf("reject 10.0.0.0/33"),
              "\"10.0.0.0/33\" is not an IP filter rule: the prefix must be a number from 0 to 32");
    EXPECT_EQ(errorOf("reject 10.1.2.3/8"),
              "\"10.1.2.3/8\" is not an IP filter rule: bits after the prefix are set; clear them, or use "
              "a longer prefix");
    EXPECT_NE(errorOf("a\r\nb").find("\"a\\x0d\\x0ab\" is not"), std::string::npos) << errorOf("a\r\nb");
    for (const char* text :
         {"", "accept", "accept ", "accept localhost", "accept 10.0.0/8", "accept 10.0.0.0/", "accept 10.0.0.0/8x",
          "accept 10.0.0.0/-1", "accept  10.0.0.0/8", "accept ::/129", "accept [::1]", "accept ::ffff:10.0.0.0/8",
          "accept 10.0.0.0/8/8", "accept 999.0.0.1", "accept /8", "accept 10.0.0.0/4294967304"}) {
        EXPECT_NE(errorOf(text).find("is not an IP filter rule: "), std::string::npos) << text << ": " << errorOf(text);
    }
}

// ---- the handler ----

std::vector<IpFilterRule> rules(std::initializer_list<const char*> texts) {
    std::vector<IpFilterRule> result;
    for (const char* text : texts) result.push_back(IpFilterRule::parse(text));
    return result;
}

TEST(IpFilterHandler, TheFirstRuleThatMatchesDecidesElseTheDefault) {
    const IpFilterHandler filter(rules({"accept 10.1.0.0/16", "reject 10.0.0.0/8", "accept 10.2.0.0/16"}));
    EXPECT_EQ(filter.decide(SocketAddress("10.1.2.3", 1)), accept);
    EXPECT_EQ(filter.decide(SocketAddress("10.2.2.3", 1)), reject);
    EXPECT_EQ(filter.decide(SocketAddress("::1", 1)), accept);
    EXPECT_EQ(IpFilterHandler({}, reject).decide(SocketAddress("::1", 1)), reject);
    EXPECT_EQ(filter.decide(SocketAddress()), reject) << "nothing is known of it";
}

struct Filtered {
    explicit Filtered(const char* peer, bool active = true) : channel(active) {
        if (peer) channel.sink->remote = SocketAddress(peer, 4000);
        channel.pipeline().addLast(filter);
        channel.pipeline().addLast("app", std::make_unique<test::Recorder>("app", events));
        channel.start();
    }
    test::LogCapture log;
    Events events;
    std::shared_ptr<IpFilterHandler> filter = std::make_shared<IpFilterHandler>(rules({"reject 10.0.0.0/8"}));
    ScriptedChannel channel;
};

TEST(IpFilterHandler, AnAcceptedConnectionLosesTheFilter) {
    Filtered test("192.168.0.1");
    EXPECT_EQ(test.events, (Events{"app:added", "app:registered", "app:active"}));
    EXPECT_EQ(test.channel.pipeline().names(), std::vector<std::string>{"app"});
}

TEST(IpFilterHandler, ARejectedConnectionIsClosedBeforeTheApplicationSeesItActive) {
    Filtered test("10.0.0.7");
    EXPECT_TRUE(test.channel->closed());
    EXPECT_EQ(test.events, (Events{"app:added", "app:registered", "app:unregistered", "app:removed"}));
    EXPECT_EQ(test.log.count("connection from 10.0.0.7:4000 rejected by IpFilterHandler#0"), 1);
    EXPECT_EQ(test.channel.sink->count("wantRead 1"), 0u);
}

TEST(IpFilterHandler, AConnectionIsJudgedWhenItsAddressBecomesKnown) {
    for (const char* peer : {"10.0.0.7", "10.0.0.8", "192.168.0.1"}) {
        Filtered test(nullptr, false);
        EXPECT_EQ(test.events, (Events{"app:added", "app:registered"}));
        test.events.clear();
        test.channel.sink->remote = SocketAddress(peer, 80);
        test.channel->connect(test.channel.sink->remote);
        test.channel.run();
        if (peer[1] == '0') {
            EXPECT_EQ(test.events, (Events{"app:connect", "app:unregistered", "app:removed"}));
        } else {
            EXPECT_EQ(test.events, (Events{"app:connect", "app:active"}));
        }
    }
}

TEST(IpFilterHandler, AFilterThatIsAddedLateJudgesAtOnceAndHidesNothing) {
    ScriptedChannel channel;
    Events events;
    test::LogCapture log;
    channel.sink->remote = SocketAddress("10.0.0.7", 1);
    channel.pipeline().addLast(std::make_unique<test::Recorder>("app", events));
    channel.start();
    events.clear();
    channel.pipeline().addFirst(std::make_shared<IpFilterHandler>(rules({"reject 10.0.0.0/8"})));
    channel.run();
    EXPECT_EQ(events, (Events{"app:inactive", "app:unregistered", "app:removed"}));
}

TEST(IpFilterHandler, AConnectionWithoutAnAddressIsRejected) {
    Filtered test(nullptr);
    EXPECT_TRUE(test.channel->closed());
    EXPECT_EQ(test.log.count("connection from (none) rejected"), 1);
}

}  // namespace
}  // namespace weft
