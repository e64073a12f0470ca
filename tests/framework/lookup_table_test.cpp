// The cache and queue of ThreadPoolResolver, with a test clock: waiting callers, lookup order, expiry of answers.
#include "lookup_table.hpp"

#include <gtest/gtest.h>

#include <netdb.h>

namespace weft::detail {
namespace {

using namespace std::chrono_literals;
using Answer = LookupTable::Answer;
using Caller = LookupTable::Caller;

const TimePoint start{1h};

Answer good(Duration time) {
    return {{SocketAddress::loopbackV4(0)}, nullptr, time};
}

Future<Resolver::Addresses> add(LookupTable& table, const std::string& host, Deadline deadline = never) {
    Caller caller{{}, 80, deadline, host};
    Future<Resolver::Addresses> future = caller.promise.future();
    table.add(std::move(caller));
    return future;
}

std::vector<std::string> hostsOf(const LookupTable::Callers& callers) {
    std::vector<std::string> hosts;
    for (const Caller& caller : callers) hosts.push_back(caller.host);
    return hosts;
}

// Completes a lookup of the name with this answer.
void know(LookupTable& table, const std::string& host, const Answer& answer, TimePoint now) {
    add(table, host);
    while (const auto next = table.takeQueued()) {
        for (Caller& caller : table.finish(*next, answer, now)) answer.deliverTo(caller);
    }
}

using Hosts = std::vector<std::string>;

TEST(LookupTable, NamesAreLookedUpInTheOrderOfTheirFirstCallers) {
    LookupTable table({});
    add(table, "b");
    add(table, "a");
    add(table, "b");
    EXPECT_EQ(table.takeQueued(), "b");
    add(table, "b");
    EXPECT_EQ(table.takeQueued(), "a");
    EXPECT_EQ(table.takeQueued(), std::nullopt);
    EXPECT_EQ(hostsOf(table.finish("b", good(0s), start)), (Hosts{"b", "b", "b"}));
    EXPECT_EQ(hostsOf(table.finish("a", good(0s), start)), (Hosts{"a"}));
    EXPECT_FALSE(table.hasCallers());
}

TEST(LookupTable, AnAnswerExpiresAfterItsTime) {
    LookupTable table({});
    know(table, "a", good(10s), start);
    EXPECT_NE(table.find("a", start), nullptr);
    EXPECT_NE(table.find("a", start + 10s - 1ns), nullptr);
    EXPECT_EQ(table.find("a", start + 10s), nullptr);
    EXPECT_EQ(table.find("a", start), nullptr);  // forgotten
    EXPECT_EQ(table.find("b", start), nullptr);
    know(table, "for ever", good(Duration::max()), start);
    EXPECT_NE(table.find("for ever", never - 1ns), nullptr);
}

TEST(LookupTable, AnAnswerOfNoTimeIsNotKept) {
    LookupTable table({});
    know(table, "a", good(0s), start);
    EXPECT_EQ(table.find("a", start), nullptr);
    add(table, "a");
    EXPECT_EQ(table.takeQueued(), "a");
}

TEST(LookupTable, WhenFullItDropsWhatHasExpiredElseWhatWouldExpireFirst) {
    ResolverOptions options;
    options.maxCached = 2;
    LookupTable table(options);
    know(table, "long", good(100s), start);
    know(table, "short", good(10s), start);
    know(table, "new", good(50s), start);
    EXPECT_EQ(table.find("short", start), nullptr);
    EXPECT_NE(table.find("long", start), nullptr);
    EXPECT_NE(table.find("new", start), nullptr);
    know(table, "later", good(1s), start + 60s);  // "new" has expired
    EXPECT_NE(table.find("long", start + 60s), nullptr);
    EXPECT_NE(table.find("later", start + 60s), nullptr);
    options.maxCached = 0;
    LookupTable none(options);
    know(none, "a", good(10s), start);
    EXPECT_EQ(none.find("a", start), nullptr);
}

TEST(LookupTable, LateCallersLeaveOldestFirstAndANameThatNobodyWaitsForIsNotLookedUp) {
    LookupTable table({});
    add(table, "a", start + 1s);
    add(table, "b", start + 2s);
    add(table, "a", start + 3s);
    EXPECT_EQ(table.nextDeadline(), start + 1s);
    EXPECT_TRUE(table.takeLate(start).empty());
    EXPECT_EQ(hostsOf(table.takeLate(start + 2s)), (Hosts{"a", "b"}));
    EXPECT_EQ(table.nextDeadline(), start + 3s);
    EXPECT_EQ(table.takeQueued(), "a");
    EXPECT_EQ(table.takeQueued(), std::nullopt);
    EXPECT_EQ(hostsOf(table.takeLate(start + 3s)), (Hosts{"a"}));
    EXPECT_TRUE(table.finish("a", good(1s), start + 4s).empty());
    EXPECT_NE(table.find("a", start + 4s), nullptr);  // the answer is kept nevertheless
    EXPECT_EQ(table.nextDeadline(), never);
}

TEST(LookupTable, ManyThousandNamesThatNobodyWaitsForLeaveNothing) {
    LookupTable table({});
    for (int i = 0; i < 10'000; ++i) add(table, std::to_string(i), start);
    EXPECT_EQ(table.takeLate(start).size(), 10'000u);
    EXPECT_EQ(table.queued(), 0u);
}

TEST(LookupTable, TheNewestCallerMayBeTakenBack) {
    LookupTable table({});
    add(table, "a");
    add(table, "b");
    EXPECT_EQ(table.takeNewest().host, "b");
    add(table, "a");
    EXPECT_EQ(table.takeNewest().host, "a");
    EXPECT_EQ(table.takeQueued(), "a");
    EXPECT_EQ(table.queued(), 0u);
    EXPECT_EQ(table.finish("a", good(0s), start).size(), 1u);
}

TEST(LookupTable, EachCallerGetsTheAddressesWithItsPort) {
    LookupTable table({});
    const auto future = add(table, "a");
    table.takeQueued();
    for (Caller& caller : table.finish("a", good(0s), start)) good(0s).deliverTo(caller);
    EXPECT_EQ(future.get(), (Resolver::Addresses{SocketAddress::loopbackV4(80)}));
}

TEST(LookupTable, IsFullAtMaxWaiting) {
    ResolverOptions options;
    options.maxWaiting = 2;
    LookupTable table(options);
    add(table, "a");
    EXPECT_FALSE(table.full());
    add(table, "a");
    EXPECT_TRUE(table.full());
    table.takeAll();
    EXPECT_FALSE(table.full());
}

}  // namespace
}  // namespace weft::detail
