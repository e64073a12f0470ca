// The conformance kit for transports checks that connections on your SocketIoHandler never lose, repeat or change a
// byte. Use it in one file of any GoogleTest program:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, SocketsConformance, ::testing::Values(SocketsUnderTest{"Mine", [] {
//       return std::make_unique<MyIoHandler>(); }}), nameOfSockets);
//
// in namespace weft::test. Each test runs a server, by handlers or by fibers, on one carrier; the clients are plain
// blocking sockets. WEFT_CONFORMANCE_MESSAGES sets the number of messages in each test that exchanges them.
#pragma once

#include <chrono>
#include <cstdlib>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/testing/leak_guard.hpp>
#include <weft/testing/sockets_bench.hpp>

namespace weft::test {

class SocketsConformance : public LeakGuard, public ::testing::WithParamInterface<SocketsUnderTest> {
  protected:
    static constexpr unsigned clients = 4;

    static std::size_t messages() {
        const char* const wanted = std::getenv("WEFT_CONFORMANCE_MESSAGES");
        return (wanted ? std::strtoul(wanted, nullptr, 10) : 8'000) / clients;
    }
    // All clients run concurrently.
    static void expectAnswers(const SocketAddress& server, bool thenEnds = false) {
        std::vector<std::thread> threads;
        for (unsigned seed = 0; seed < clients; ++seed) {
            threads.emplace_back([=] { EXPECT_EQ(exchange(server, seed, messages(), thenEnds), ""); });
        }
        for (std::thread& thread : threads) thread.join();
    }
    SocketsHost host{GetParam()};
};

inline std::string nameOfSockets(const ::testing::TestParamInfo<SocketsUnderTest>& info) {
    return info.param.name;
}

TEST_P(SocketsConformance, HandlersAnswerEveryMessage) {
    const HandlerServer server(host, answerMessages);
    expectAnswers(server.address());
}

TEST_P(SocketsConformance, HandlersThatToggleAutoReadAtRandomGetEveryMessageAndNothingUnrequested) {
    std::atomic<unsigned> unwanted{0}, seed{0};
    const HandlerServer server(host, [&](Channel& channel) {
        channel.pipeline().addLast<RandomReader>(seed++, unwanted);
        answerMessages(channel);
    });
    expectAnswers(server.address());
    EXPECT_EQ(unwanted, 0u);
}

TEST_P(SocketsConformance, HandlersAnswerWhatCameBeforeThePeersEnd) {
    const HandlerServer server(host, answerMessages);
    expectAnswers(server.address(), true);
}

TEST_P(SocketsConformance, FibersAnswerEveryMessage) {
    const FiberServer server(host, answeringFiber(readExactly));
    expectAnswers(server.address());
}

TEST_P(SocketsConformance, FibersThatTakeBuffersAnswerEveryMessage) {
    const FiberServer server(host, answeringFiber(readBuffers));
    expectAnswers(server.address(), true);
}

TEST_P(SocketsConformance, FibersWhoseDeadlinesPassLoseNoByte) {
    const FiberServer server(host, answeringFiber(readHastily));
    expectAnswers(server.address());
}

// Peers reset their connections in the middle of messages; another connection continues.
TEST_P(SocketsConformance, ResetsEndTheirConnectionsOnly) {
    const HandlerServer handlers(host, answerMessages);
    const FiberServer fibers(host, answeringFiber(readBuffers));
    for (const SocketAddress& address : {handlers.address(), fibers.address()}) {
        std::thread others([&] {
            for (unsigned seed = 0; seed < 50; ++seed) {
                PlainClient client(address);
                MessageMaker maker(seed);
                std::string bytes = MessageMaker::framed(maker.payload());
                bytes += MessageMaker::framed(maker.payload());
                client.send(std::string_view(bytes).substr(0, bytes.size() - seed % bytes.size()));
                client.reset();
            }
        });
        EXPECT_EQ(exchange(address, 99, messages()), "");
        others.join();
    }
}

TEST_P(SocketsConformance, E7_AShortageOfDescriptorsIsReportedOnceAndDelaysConnectionsButLosesNone) {
    DescriptorLimit limit;
    const HandlerServer server(host, answerMessages);
    std::vector<std::unique_ptr<PlainClient>> waiting;
    host.inLoop([&] {  // no connection is accepted while this task runs
        for (unsigned i = 0; i < clients; ++i) waiting.push_back(std::make_unique<PlainClient>(server.address()));
        limit.exhaust();
    });
    const auto end = std::chrono::steady_clock::now() + socketsTimeout;
    while (server.failures() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    limit.relieve();
    for (unsigned seed = 0; seed < clients; ++seed) EXPECT_EQ(exchange(*waiting[seed], seed, 10), "");
    EXPECT_EQ(server.failures(), 1u);
}

// Another thread closes the connections while messages and answers are in flight.
TEST_P(SocketsConformance, ClosesRaceWithTrafficAndEndEachConnection) {
    std::mutex lock;
    std::vector<ChannelRef> open;
    const HandlerServer server(host, [&](Channel& channel) {
        answerMessages(channel);
        const std::lock_guard held(lock);
        open.push_back(ChannelRef(channel));
    });
    for (unsigned seed = 0; seed < 100; ++seed) {
        PlainClient client(server.address());
        std::thread closer([&] {
            ChannelRef mine;
            for (; !mine; std::this_thread::yield()) {
                const std::lock_guard held(lock);
                if (open.empty()) continue;
                mine = std::move(open.back());
                open.pop_back();
            }
            const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(seed * 7 % 500);
            while (std::chrono::steady_clock::now() < moment) {
            }
            mine->close();
        });
        const std::string wrong = exchange(client, seed, 1'000'000);
        EXPECT_EQ(wrong.find("a wrong answer"), std::string::npos) << wrong;
        closer.join();
    }
}

TEST_P(SocketsConformance, TheEndOfTheLoopEndsEachConnection) {
    const HandlerServer handlers(host, answerMessages);
    const FiberServer fibers(host, answeringFiber(readExactly));
    std::latch answered(clients);
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < clients; ++seed) {
        threads.emplace_back([&, seed] {
            PlainClient client(seed % 2 ? handlers.address() : fibers.address());
            EXPECT_EQ(exchange(client, seed, 10), "");
            answered.count_down();
            const std::string wrong = exchange(client, seed, 1'000'000);
            EXPECT_EQ(wrong.find("a wrong answer"), std::string::npos) << wrong;
        });
    }
    answered.wait();
    EXPECT_TRUE(host.stop());
    for (std::thread& thread : threads) thread.join();
}

TEST_P(SocketsConformance, AFibersConnectIsMadeOrRefused) {
    const HandlerServer server(host, answerMessages);
    const SocketAddress refusing = HandlerServer(host, answerMessages).address();
    host.carrier()
        .spawn([&] {
            ErrorCode error;
            TcpStream stream = TcpStream::connect(server.address(), error);
            EXPECT_FALSE(error) << error;
            MessageMaker maker(1);
            const std::string payload = maker.payload();
            stream.write(MessageMaker::framed(payload), error);
            MessageHash answer = 0;
            EXPECT_EQ(stream.readExactly({reinterpret_cast<char*>(&answer), sizeof answer}, error), sizeof answer);
            EXPECT_EQ(answer, hashOf(payload));
            TcpStream::connect(refusing, error);
            EXPECT_EQ(error.value(), ECONNREFUSED);
        })
        .join();
}

}  // namespace weft::test
