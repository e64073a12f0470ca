// Transport: names and selection; small building blocks of the transports.
#include <weft/transports/transport.hpp>

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <unistd.h>

#include <weft/scheduler/errors.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "transports/scripted_system_calls.hpp"
#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

TEST(Transport, ParsesItsNames) {
    EXPECT_EQ(Transport::parse("auto"), Transport::Kind::automatic);
    EXPECT_EQ(Transport::parse("epoll"), Transport::Kind::epoll);
    EXPECT_EQ(Transport::name(Transport::Kind::epoll), "epoll");
}

TEST(Transport, AnUnknownNameIsRefusedWithWhatIsAccepted) {
    try {
        Transport::parse("kqueue", "WEFT_TRANSPORT");
        ADD_FAILURE();
    } catch (const ConfigurationError& error) {
        const std::string text = error.what();
        for (const char* part : {"WEFT_TRANSPORT", "kqueue", "auto", "epoll"}) {
            EXPECT_NE(text.find(part), std::string::npos) << text;
        }
    }
}

TEST(Transport, MakesAHandlerOfTheSocketFamily) {
    auto handler = Transport::makeIoHandler();
    EXPECT_EQ(handler->family(), SocketIoHandler::familyTag());
    EXPECT_EQ(handler->pollFd(), -1) << "the kernel is not asked before open()";
}

TEST(Fd, ClosesOnceThroughItsLayer) {
    ScriptedSystemCalls calls;
    {
        Fd first(7, calls);
        Fd second(std::move(first));
        EXPECT_FALSE(first);
        EXPECT_EQ(second.get(), 7);
        EXPECT_EQ(calls.count("close"), 0);
    }
    EXPECT_EQ(calls.count("close"), 1);
    EXPECT_TRUE(calls.closed(7));
}

TEST(SystemCalls, ReturnTheErrorInsteadOfErrno) {
    char byte;
    EXPECT_EQ(SystemCalls::kernel().recv(-1, &byte, 1), -EBADF);
    EXPECT_EQ(SystemCalls::kernel().close(-1), -EBADF);
    EXPECT_EQ(SystemCalls::kernel().socket(-1, 0, 0), -EAFNOSUPPORT);
}

TEST(TcpSocket, OptionsAreSetAndReadBack) {
    const DescriptorGuard guard;
    SystemCalls& calls = SystemCalls::kernel();
    Fd fd = openTcpSocket(AF_INET);
    for (SocketOption option :
         {SocketOption::noDelay, SocketOption::keepAlive, SocketOption::reuseAddress, SocketOption::reusePort}) {
        EXPECT_FALSE(detail::setSocketOption(calls, fd.get(), option, 1));
        int value = 0;
        EXPECT_FALSE(detail::getSocketOption(calls, fd.get(), option, value));
        EXPECT_NE(value, 0);
    }
    int linger = 7;
    EXPECT_FALSE(detail::getSocketOption(calls, fd.get(), SocketOption::linger, linger));
    EXPECT_EQ(linger, -1);
    EXPECT_FALSE(detail::setSocketOption(calls, fd.get(), SocketOption::linger, 0));
    EXPECT_FALSE(detail::getSocketOption(calls, fd.get(), SocketOption::linger, linger));
    EXPECT_EQ(linger, 0);
}

TEST(TcpSocket, C6_ALingeringCloseIsRefusedBecauseItWouldBlockTheCarrier) {
    Fd fd = openTcpSocket(AF_INET);
    EXPECT_EQ(detail::setSocketOption(SystemCalls::kernel(), fd.get(), SocketOption::linger, 5), fromErrno(EOPNOTSUPP));
}

TEST(TcpSocket, AnUnknownFamilyIsAnError) {
    ErrorCode error;
    EXPECT_FALSE(openTcpSocket(-1, SystemCalls::kernel(), error));
    EXPECT_EQ(error, fromErrno(EAFNOSUPPORT));
    EXPECT_THROW(openTcpSocket(-1), SystemError);
}

}  // namespace
}  // namespace weft::test
