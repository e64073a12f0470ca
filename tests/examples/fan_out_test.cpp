// The program that queries two backends for each request, between a plain client and backends that answer when the test
// lets them.
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <weft/scheduler/errors.hpp>

#include "examples/http_client.hpp"
#include "examples/program.hpp"

namespace weft::test {
namespace {

void setReceiveTimeout(int fd) {
    const timeval timeout{20, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

// One connection of a backend.
class Call {
  public:
    explicit Call(int fd) : fd_(fd) {
        setReceiveTimeout(fd_);
        char byte = 0;
        while (!request_.ends_with("\r\n\r\n") && ::recv(fd_, &byte, 1, 0) == 1) request_ += byte;
    }
    ~Call() { ::close(fd_); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    std::string target() const { return request_.substr(0, request_.find(" HTTP/1.1")); }
    void answer(std::string_view status, std::string_view body) {
        const std::string bytes = "HTTP/1.1 " + std::string(status) +
                                  "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    // Waits for the end of the connection, by a close or a reset.
    bool ended() {
        char byte = 0;
        const ssize_t count = ::recv(fd_, &byte, 1, 0);
        return count == 0 || (count < 0 && errno == ECONNRESET);
    }

  private:
    const int fd_;
    std::string request_;
};

class Backend {
  public:
    Backend() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), address_(SocketAddress::loopbackV4(0)) {
        setReceiveTimeout(listener_);
        socklen_t size = address_.size();
        if (::bind(listener_, address_.data(), size) != 0 || ::listen(listener_, 16) != 0 ||
            ::getsockname(listener_, address_.data(), &size) != 0) {
            throw SystemError(fromErrno(errno), "Backend");
        }
    }
    ~Backend() { ::close(listener_); }
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    std::string address() const { return address_.toString(); }
    Call accept() { return Call(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)); }

  private:
    const int listener_;
    SocketAddress address_;
};

Program fanOut(const std::string& left, const std::string& right) {
    return Program("fan_out", {"--listen", "127.0.0.1:0", "--carriers", "1", "--left", left, "--right", right});
}

TEST(FanOutExample, AsksBothBackendsBeforeEitherHasAnswered) {
    Backend left;
    Backend right;
    Program program = fanOut(left.address(), right.address());
    HttpClient client(program.listening());
    client.send("GET /fruits?ripe=1 HTTP/1.1\r\nHost: test\r\n\r\n");
    Call toLeft = left.accept();
    Call toRight = right.accept();
    EXPECT_EQ(toLeft.target(), "GET /fruits?ripe=1");
    EXPECT_EQ(toRight.target(), "GET /fruits?ripe=1");
    toRight.answer("200 OK", "2");
    toLeft.answer("200 OK", "1");
    const HttpAnswer both = client.receive();
    EXPECT_EQ(both.status, 200);
    EXPECT_EQ(both.body, "{\"left\":1,\"right\":2}\n");
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

TEST(FanOutExample, AFailureOfOneCancelsTheOtherAndIsTheReason) {
    Backend left;
    Backend right;
    Program program = fanOut(left.address(), right.address());
    HttpClient client(program.listening());
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    Call toLeft = left.accept();
    Call toRight = right.accept();
    toLeft.answer("500 Internal Server Error", "");
    EXPECT_TRUE(toRight.ended());
    const HttpAnswer failure = client.receive();
    EXPECT_EQ(failure.status, 502);
    EXPECT_NE(failure.body.find(left.address()), std::string::npos) << failure.body;
    EXPECT_EQ(program.stop(), 0);
}

TEST(FanOutExample, AResetOfTheClientCancelsBoth) {
    Backend left;
    Backend right;
    Program program = fanOut(left.address(), right.address());
    const SocketAddress address = program.listening();
    BlockingPeer client(address);
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    Call toLeft = left.accept();
    Call toRight = right.accept();
    client.reset();
    EXPECT_TRUE(toLeft.ended());
    EXPECT_TRUE(toRight.ended());
    HttpClient next(address);
    next.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    Call again = left.accept();
    Call andAgain = right.accept();
    again.answer("200 OK", "1");
    andAgain.answer("200 OK", "2");
    EXPECT_EQ(next.receive().status, 200);
    EXPECT_EQ(program.stop(), 0);
    EXPECT_EQ(program.complaints(), "");
}

}  // namespace
}  // namespace weft::test
