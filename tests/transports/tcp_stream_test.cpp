// TcpStream and TcpListener over real loopback sockets, on carriers with an epoll event loop: bytes in both directions,
// addresses, and which calls are refused. What ends a call early: tcp_stream_end_test.cpp.
#include <weft/transports/tcp_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "transports/counting_system_calls.hpp"
#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

std::string readAll(TcpStream& stream) {
    std::string all;
    std::array<char, 4096> bytes;
    while (std::size_t count = stream.read(bytes)) all.append(bytes.data(), count);
    return all;
}

TEST(TcpStream, EchoesAThousandRoundTrips) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        auto server = host.carrier().spawn([&] { echo(pair.server); });
        for (int i = 0; i < 1000; ++i) {
            const std::string message = "message " + std::to_string(i);
            std::string answer(message.size(), '?');
            pair.client.write(message);
            pair.client.readExactly(answer);
            ASSERT_EQ(answer, message);
        }
        pair.client.shutdownOutput();
        server.join();
    });
}

TEST(TcpStream, ServesAHundredConnectionsAtOnce) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        auto acceptor = host.carrier().spawn([&] {
            ErrorCode error;
            for (;;) {
                TcpStream stream = listener.accept(error);
                if (error) return error;
                host.carrier().spawnDetached([stream = std::move(stream)]() mutable { echo(stream); });
            }
        });
        auto talk = [&] {
            TcpStream stream = TcpStream::connect(listener.localAddress(), testDeadline());
            for (int i = 0; i < 10; ++i) {
                std::string answer(5, '?');
                stream.write(std::string_view("hello"));
                stream.readExactly(answer);
                if (answer != "hello") return false;
            }
            return true;
        };
        std::vector<JoinHandle<bool>> clients;
        for (int i = 0; i < 100; ++i) clients.push_back(host.carrier().spawn(talk));
        for (auto& client : clients) EXPECT_TRUE(client.join());
        listener.close();
        EXPECT_EQ(acceptor.join(), operationAborted());
    });
}

TEST(TcpStream, SameCarrierWorkNeedsNoWakeUpOfThePoller) {
    SocketLoops host;
    const std::uint64_t wakes = host.inFiber([&] {
        const std::uint64_t before = host.carrier().stats().wakesPoller;
        TcpPair pair;
        auto server = host.carrier().spawn([&] { echo(pair.server); });
        std::string answer(4, '?');
        for (int i = 0; i < 100; ++i) {
            pair.client.write(std::string_view("ping"));
            pair.client.readExactly(answer);
        }
        pair.client.close();
        server.join();
        return host.carrier().stats().wakesPoller - before;
    });
    EXPECT_EQ(wakes, 0u);
}

TEST(TcpStream, AWriteOfSeveralPartsArrivesInOrder) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        pair.client.write({"one ", "", "two ", "three", ""});
        pair.client.write({"", ""});
        std::vector<std::string> many;
        for (int i = 0; i < 200; ++i) many.push_back(" " + std::to_string(i));
        const std::vector<std::string_view> views(many.begin(), many.end());
        pair.client.writeParts(views);
        pair.client.shutdownOutput();
        std::string expected = "one two three";
        for (const auto& part : many) expected += part;
        EXPECT_EQ(readAll(pair.server), expected);
    });
}

TEST(TcpStream, AWriteOfALiteralSendsItsCharactersOnly) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        ErrorCode error;
        pair.client.write("literal, ");
        EXPECT_EQ(pair.client.write("and another", error), 11u);
        pair.client.close();
        EXPECT_EQ(readAll(pair.server), "literal, and another");
    });
}

TEST(TcpStream, AWriteTakesBytesInEveryForm) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        const std::string text = "a";
        const std::vector<char> vector{'b', '\0'};
        std::array<char, 1> array{'c'};
        char bytes[] = {'d', 'e', '\0'};
        pair.client.write(text);
        pair.client.write(std::string_view("\0", 1));
        pair.client.write(vector);
        pair.client.write(array);
        pair.client.write(std::span<const char>(bytes));
        pair.client.write(std::span(bytes, 1));
        pair.client.write({"g", "h"});
        pair.client.close();
        EXPECT_EQ(readAll(pair.server), std::string("a\0b\0cde\0dgh", 11));
    });
}

TEST(TcpStream, SCH8_AFiberWhosePeerNeverStopsSendingLetsTheOthersRun) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    std::atomic<bool> stop{false};
    host.inFiber([&] {
        TcpPair pair;
        calls.endlessInput = true;
        auto flooded = host.carrier().spawn([&] {
            std::array<char, 16> bytes;
            while (!stop) pair.server.read(bytes);
        });
        auto other = host.carrier().spawn([&] { thisFiber::sleepFor(1ms); });
        other.join();                               // a timer and a fiber
        host.loop().execute([&] { stop = true; });  // a task
        flooded.join();
        calls.endlessInput = false;
    });
}

TEST(TcpStream, HalfCloseLetsTheOtherDirectionFinish) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        pair.client.write(std::string_view("request"));
        pair.client.shutdownOutput();
        EXPECT_EQ(readAll(pair.server), "request");
        pair.server.write(std::string_view("answer after your end"));
        pair.server.close();
        EXPECT_EQ(readAll(pair.client), "answer after your end");
    });
}

TEST(TcpStream, FourMebibytesPassThroughASlowReader) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        std::string sent(4 << 20, '\0');
        for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
        auto writer = host.carrier().spawn([&] {
            pair.client.write(sent);
            pair.client.shutdownOutput();
        });
        std::string received;
        std::array<char, 1500> bytes;
        while (std::size_t count = pair.server.read(bytes)) {
            received.append(bytes.data(), count);
            thisFiber::yield();
        }
        writer.join();
        EXPECT_TRUE(received == sent) << received.size() << " bytes";
    });
}

TEST(TcpStream, AConnectToAClosedPortIsRefusedAndNamesTheAddress) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([] {
        TcpListener listener = TcpListener::listen(anyPort);
        const SocketAddress gone = listener.localAddress();
        listener.close();
        try {
            TcpStream::connect(gone);
            ADD_FAILURE() << "connected to a closed port";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), fromErrno(ECONNREFUSED));
            EXPECT_NE(std::string(error.what()).find(gone.toString()), std::string::npos) << error.what();
        }
    });
}

TEST(TcpStream, ASecondReaderAtTheSameTimeIsRefused) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        bool reading = false;
        auto reader = host.carrier().spawn([&] {
            std::array<char, 8> bytes;
            reading = true;
            return pair.client.read(bytes);
        });
        while (!reading) thisFiber::yield();
        for (int i = 0; i < 20; ++i) thisFiber::yield();  // it may yield once before it parks
        std::array<char, 8> bytes;
        ErrorCode error;
        EXPECT_EQ(pair.client.read(bytes, error), 0u);
        EXPECT_EQ(error, fromErrno(EALREADY));
        pair.server.write(std::string_view("first"));
        EXPECT_EQ(reader.join(), 5u);  // the first reader is unaffected
    });
}

TEST(TcpStream, SeveralAcceptorsEachGetAConnection) {
    SocketLoops host;
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        std::vector<JoinHandle<bool>> acceptors;
        for (int i = 0; i < 3; ++i) {
            acceptors.push_back(host.carrier().spawn([&] { return listener.accept(testDeadline()).isOpen(); }));
        }
        thisFiber::yield();
        std::vector<TcpStream> clients;
        for (int i = 0; i < 3; ++i) clients.push_back(TcpStream::connect(listener.localAddress(), testDeadline()));
        for (auto& acceptor : acceptors) EXPECT_TRUE(acceptor.join());
    });
}

TEST(TcpStream, E7_AcceptReportsShortageAndTheConnectionWaits) {
    CountingSystemCalls calls;
    SocketLoops host(1, calls);
    host.inFiber([&] {
        TcpListener listener = TcpListener::listen(anyPort);
        TcpStream client = TcpStream::connect(listener.localAddress(), testDeadline());
        calls.acceptError = EMFILE;
        ErrorCode error;
        listener.accept(testDeadline(), error);
        EXPECT_EQ(error, fromErrno(EMFILE));
        calls.acceptError = 0;
        EXPECT_TRUE(listener.accept(testDeadline()).isOpen());
    });
}

TEST(TcpStream, AddressesMirrorEachOther) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        EXPECT_EQ(pair.client.remoteAddress(), pair.listener.localAddress());
        EXPECT_EQ(pair.client.localAddress(), pair.server.remoteAddress());
        int noDelay = 0;
        EXPECT_FALSE(pair.server.getOption(SocketOption::noDelay, noDelay));
        EXPECT_EQ(noDelay, 1);  // inherited from the listener
        pair.client.close();
        EXPECT_TRUE(pair.client.localAddress().empty());
    });
}

TEST(TcpStream, AListenOnATakenPortNamesTheAddress) {
    SocketLoops host;
    host.inFiber([] {
        TcpListener first = TcpListener::listen(anyPort);
        try {
            TcpListener::listen(first.localAddress());
            ADD_FAILURE() << "two listeners on one port";
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), fromErrno(EADDRINUSE));
            EXPECT_NE(std::string(error.what()).find(first.localAddress().toString()), std::string::npos);
        }
    });
}

TEST(TcpStream, APlainThreadIsToldToSpawnAFiber) {
    try {
        TcpStream::connect(SocketAddress::loopbackV4(1));
        ADD_FAILURE();
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find("spawn"), std::string::npos) << error.what();
    }
}

TEST(TcpStream, ACarrierWithoutSocketsIsNamedWithTheRemedy) {
    CarrierGroup group(carrierOptions("bare", 1));
    auto fiber = group.carrier(0).spawn([] { TcpStream::connect(SocketAddress::loopbackV4(1)); });
    try {
        fiber.join();
        ADD_FAILURE();
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find("bare0"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("EventLoopGroup"), std::string::npos) << error.what();
    }
}

TEST(TcpStream, AStreamUsedOnAnotherCarrierIsRefused) {
    SocketLoops host(2);
    host.inFiber([&] {
        TcpPair pair;
        auto elsewhere = host.carrier(1).spawn([&] { pair.client.write(std::string_view("x")); });
        EXPECT_THROW(elsewhere.join(), std::logic_error);
    });
}

TEST(TcpStream, ABlockingReadInsideDispatchThrows) {
    SocketLoops host;
    host.inFiber([&] {
        TcpPair pair;
        Promise<bool> threw;
        Future<bool> result = threw.future();
        host.loop().execute([&pair, threw = std::move(threw)]() mutable {
            std::array<char, 8> bytes;
            ErrorCode error;
            try {
                pair.client.read(bytes, error);
                threw.setValue(false);
            } catch (const BlockingOperationException&) {
                threw.setValue(true);
            }
        });
        EXPECT_TRUE(result.get());
    });
}

}  // namespace
}  // namespace weft::test
