// A reset gives every call on a fiber's stream the same error, whichever call the kernel reports it to first; an
// orderly end gives none.
#include <weft/transports/tcp_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

// More than the kernel's buffers hold, so that a writer waits for a peer that does not read.
constexpr std::size_t endless = 64 << 20;

void letOthersPark() {
    for (int i = 0; i < 100; ++i) thisFiber::yield();
}

void reset(TcpStream& stream) {
    ASSERT_FALSE(stream.setOption(SocketOption::linger, 0));
    stream.close();
}

std::string readUntil(TcpStream& stream, ErrorCode& error) {
    std::string all;
    std::array<char, 4096> bytes;
    while (std::size_t count = stream.read(bytes, error)) all.append(bytes.data(), count);
    return all;
}

std::string readBuffersUntil(TcpStream& stream, ErrorCode& error) {
    std::string all;
    for (Buffer next = stream.read(1000, error); !next.empty(); next = stream.read(1000, error)) all += next.view();
    return all;
}

ErrorCode writeUntilRefused(TcpStream& stream) {
    const std::string bytes(endless, 'x');
    ErrorCode error;
    while (!error) stream.write(bytes, error);
    return error;
}

// The writer waits first, so it runs first after the reset, and its send consumes the socket's error.
void resetUnderBoth(SocketLoops& host, std::string (*readAll)(TcpStream&, ErrorCode&)) {
    host.inFiber([&] {
        TcpPair pair;
        ErrorCode readError;
        std::string got;
        auto writer = host.carrier().spawn([&] { return writeUntilRefused(pair.client); });
        auto reader = host.carrier().spawn([&] { got = readAll(pair.client, readError); });
        letOthersPark();
        pair.server.write(std::string_view("half a body"));
        reset(pair.server);
        EXPECT_EQ(writer.join(), fromErrno(ECONNRESET));
        reader.join();
        EXPECT_EQ(got, "half a body");
        EXPECT_EQ(readError, fromErrno(ECONNRESET)) << "a body that ends with the connection would be taken for whole";
    });
}

TEST(TcpStream, AResetIsAnErrorForTheReaderAlsoWhenTheWriterRunsFirst) {
    SocketLoops host;
    resetUnderBoth(host, readUntil);
}

TEST(TcpStream, AResetIsAnErrorForTheReaderOfBuffersAlsoWhenTheWriterRunsFirst) {
    SocketLoops host;
    resetUnderBoth(host, readBuffersUntil);
}

TEST(TcpStream, AReadAfterAWriteThatFailedTakesWhatHadComeAndThenTheSameError) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        ErrorCode error;
        pair.server.write(std::string_view("half a body"));
        reset(pair.server);
        pair.client.write(std::string_view("request"), error);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        EXPECT_EQ(readUntil(pair.client, error), "half a body");
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        for (int i = 0; i < 3; ++i) {  // and again
            EXPECT_EQ(readUntil(pair.client, error), "");
            EXPECT_EQ(error, fromErrno(ECONNRESET));
        }
    });
}

TEST(TcpStream, AWriteAfterAReadThatFailedIsTheSameError) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        ErrorCode error;
        reset(pair.server);
        EXPECT_EQ(readUntil(pair.client, error), "");
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        pair.client.write(std::string_view("request"), error);
        EXPECT_EQ(error, fromErrno(ECONNRESET));
        EXPECT_EQ(readUntil(pair.client, error), "");
        EXPECT_EQ(error, fromErrno(ECONNRESET));
    });
}

TEST(TcpStream, AWriteAfterTheOwnEndOfOutputDoesNotTurnThePeersOrderlyEndIntoAnError) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        ErrorCode error;
        pair.client.shutdownOutput();
        pair.client.write(std::string_view("too late"), error);
        EXPECT_EQ(error, fromErrno(EPIPE));
        pair.server.write(std::string_view("a whole body"));
        pair.server.close();
        EXPECT_EQ(readUntil(pair.client, error), "a whole body");
        EXPECT_FALSE(error) << error.message();
    });
}

// The peer has sent everything before it refuses further input.
TEST(TcpStream, AnEndThatCameBeforeTheResetStaysAnEnd) {
    SocketLoops host;
    host.inFiber([] {
        TcpPair pair;
        pair.server.write(std::string_view("a whole body"));
        pair.server.close();
        EXPECT_EQ(writeUntilRefused(pair.client), fromErrno(EPIPE));
        ErrorCode error;
        EXPECT_EQ(readUntil(pair.client, error), "a whole body");
        EXPECT_FALSE(error) << error.message();
    });
}

}  // namespace
}  // namespace weft::test
