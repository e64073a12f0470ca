// An upstream sends unsolicited bytes: http::Client never takes them for the answer to a request.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/http/client_bench.hpp"
#include "framework/http/hostile_upstream.hpp"

namespace weft::test {
namespace {

using http::Client;
using http::ClientError;
using http::ClientRequest;
using http::ClientStats;
using http::Method;
using End = HostileUpstream::End;

const std::string foreign = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign";

enum class Idle : unsigned char { noTurn, oneTurn, manyTurns };

class HostileUpstreamTest : public ClientBench {
  protected:
    // Sends a request, attacks while its connection is idle, then sends others: each gets the answer to its own target.
    void attack(HostileUpstream::Attack attack, Method first, Idle idle) {
        HostileUpstream upstream(std::move(attack));
        const Client client;
        inFiber([&] {
            ErrorCode error;
            client.request(upstream.address(), ClientRequest(first, "/first"), {}, error);
            EXPECT_FALSE(error) << error.message();
            const std::size_t pooled = client.stats().idle;
            upstream.strike();
            if (idle == Idle::oneTurn) thisFiber::yield();
            if (idle == Idle::manyTurns) thisFiber::sleepFor(3ms);
            for (const Method method : {Method::get, Method::post, Method::get}) {
                const std::string target = "/" + std::string(nameOf(method));
                ClientRequest request(method, target, Buffer());
                const http::ClientResponse answer = client.request(upstream.address(), std::move(request), {}, error);
                EXPECT_EQ(answer.body(), target) << error.message();
            }
            const ClientStats stats = client.stats();
            EXPECT_EQ(stats.stale, pooled);
            EXPECT_EQ(stats.opened, 2u);
            EXPECT_EQ(stats.retried, 0u);
        });
    }
    void attackAtEveryAge(const HostileUpstream::Attack& what, Method first = Method::get) {
        for (const Idle idle : {Idle::noTurn, Idle::oneTurn, Idle::manyTurns}) attack(what, first, idle);
    }
};

TEST_F(HostileUpstreamTest, ASecondAnswerIsGivenToNoRequestHoweverItIsCut) {
    const std::string own = answerText("own");
    for (std::size_t cut = 0; cut <= foreign.size(); ++cut) {
        SCOPED_TRACE(cut);  // the number of its bytes that come with the first answer
        attack({own + foreign.substr(0, cut), foreign.substr(cut)}, Method::get,
               cut % 2 ? Idle::noTurn : Idle::oneTurn);
    }
    attackAtEveryAge({own, foreign});
    attackAtEveryAge({own, foreign + foreign + foreign});
}

TEST_F(HostileUpstreamTest, ASingleUnsolicitedByteEndsTheConnection) {
    for (const char byte : {'\r', '\n', 'H', '\0'}) attackAtEveryAge({answerText("own"), std::string(1, byte)});
}

TEST_F(HostileUpstreamTest, ALateBodyOfAnAnswerWithoutOneIsNoAnswer) {
    const std::string length = "Content-Length: " + std::to_string(foreign.size()) + "\r\n";
    attackAtEveryAge({"HTTP/1.1 200 OK\r\n" + length + "\r\n", foreign}, Method::head);
    attackAtEveryAge({"HTTP/1.1 204 No Content\r\n\r\n", foreign});
    attackAtEveryAge({"HTTP/1.1 304 Not Modified\r\n" + length + "\r\n", foreign});
    attackAtEveryAge({"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", foreign});
    attackAtEveryAge({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", foreign});
}

TEST_F(HostileUpstreamTest, InterimAnswersOnAnIdleConnectionEndIt) {
    for (const std::string_view status : {"100 Continue", "102 Processing", "103 Early Hints"}) {
        const std::string interim = "HTTP/1.1 " + std::string(status) + "\r\n\r\n";
        std::string flood;
        while (flood.size() < 4096) flood += interim;
        attackAtEveryAge({answerText("own"), interim});
        attackAtEveryAge({answerText("own"), flood + foreign});
    }
}

TEST_F(HostileUpstreamTest, AFloodOfInterimAnswersToARequestIsAFault) {
    std::string flood;
    while (flood.size() < 64 * 1024) flood += "HTTP/1.1 103 Early Hints\r\n\r\n";
    HostileUpstream upstream({flood, ""});
    const Client client;
    inFiber([&] {
        ErrorCode error;
        client.request(upstream.address(), ClientRequest(Method::get, "/"), {}, error);
        EXPECT_EQ(error, make_error_code(http::ClientFault::headTooLarge));
        EXPECT_EQ(client.stats().idle, 0u);
        upstream.strike();
    });
}

TEST_F(HostileUpstreamTest, AnEndOrAResetIsNoticedAtAnyAgeAndNothingIsSentTwice) {
    for (const End end : {End::finish, End::reset}) {
        for (const std::string& last : {std::string(), foreign}) {
            for (const Idle idle : {Idle::noTurn, Idle::oneTurn, Idle::manyTurns}) {
                attack({answerText("own"), last, end}, Method::get, idle);
            }
        }
    }
}

// The pool checks each idle connection by itself, including those that went in before the bad one.
TEST_F(HostileUpstreamTest, GoodConnectionsOfTheSameServerStay) {
    HostileUpstream upstream({answerText("own"), foreign});
    const Client client;
    inFiber([&] {
        ErrorCode error;
        EXPECT_EQ(client.request(upstream.address(), ClientRequest(Method::get, "/1"), {}, error).body(), "own");
        EXPECT_EQ(client.stats().idle, 1u);
        upstream.strike();
        EXPECT_EQ(client.request(upstream.address(), ClientRequest(Method::get, "/2"), {}, error).body(), "/2");
        EXPECT_EQ(client.request(upstream.address(), ClientRequest(Method::get, "/3"), {}, error).body(), "/3");
        EXPECT_EQ(client.stats().stale, 1u);
        EXPECT_EQ(client.stats().reused, 1u);
    });
    EXPECT_EQ(upstream.connections(), 2u);
}

}  // namespace
}  // namespace weft::test
