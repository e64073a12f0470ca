#include <weft/http/client.hpp>

#include <functional>
#include <string>

#include "framework/bench.hpp"
#include "framework/http/scripted_backend.hpp"
#include "framework/reserved_port.hpp"

namespace weft::test {
namespace {

using http::ClientError;
using http::ClientFault;
using http::ClientResponse;
using Then = ScriptedAnswer::Then;

std::string answer(std::string_view body, std::string_view headers = {}) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(headers) +
           "\r\n" + std::string(body);
}

class ClientTest : public ::testing::Test {
  protected:
    void inFiber(const std::function<void()>& body) { group_.carriers().carrier(0).spawn(body).join(); }

    ErrorCode codeOf(const SocketAddress& backend, const http::GetOptions& options = {}) {
        ErrorCode error;
        inFiber([&] { http::get(backend, "/", options, error); });
        return error;
    }
    // Checks the throwing overload's exception, and that the other overload returns the same code.
    void expectFault(ScriptedAnswer script, ErrorCode code, std::string_view text, http::GetOptions options = {}) {
        ScriptedBackend backend({script, script});
        inFiber([&] {
            try {
                http::get(backend.address(), "/x", options);
                ADD_FAILURE() << "no exception for " << script.bytes;
            } catch (const ClientError& error) {
                EXPECT_EQ(error.code(), code) << error.what();
                const std::string what = error.what();
                EXPECT_NE(what.find("GET http://" + backend.address().toString() + "/x: "), std::string::npos) << what;
                EXPECT_NE(what.find(text), std::string::npos) << what;
            }
        });
        EXPECT_EQ(codeOf(backend.address(), options), code);
    }

    EventLoopGroup group_{groupOptions(1)};
};

TEST_F(ClientTest, GetsABodyOfKnownLength) {
    ScriptedBackend backend({{answer("apples", "Content-Type: text/fruit\r\n"), Then::close}});
    inFiber([&] {
        ClientResponse response = http::get(backend.address(), "/fruits?ripe=1");
        EXPECT_EQ(response.status(), http::Status::ok);
        EXPECT_EQ(response.reason(), "OK");
        EXPECT_EQ(response.header("content-type"), "text/fruit");
        EXPECT_EQ(response.header("absent"), std::nullopt);
        EXPECT_EQ(response.body(), "apples");
        EXPECT_EQ(std::string(response.takeBody().view()), "apples");
    });
    EXPECT_EQ(backend.requests()[0],
              "GET /fruits?ripe=1 HTTP/1.1\r\nHost: " + backend.address().toString() + "\r\n\r\n");
}

TEST_F(ClientTest, GetsChunkedAndUntilCloseBodies) {
    ScriptedBackend backend(
        {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"},
         {"HTTP/1.1 200 OK\r\n\r\nuntil the end", Then::close},
         {"HTTP/1.0 200\r\n\r\n", Then::close}});
    inFiber([&] {
        EXPECT_EQ(http::get(backend.address(), "/").body(), "abcde");
        EXPECT_EQ(http::get(backend.address(), "/").body(), "until the end");
        EXPECT_EQ(http::get(backend.address(), "/").body(), "");
    });
    EXPECT_EQ(backend.connections(), 2);  // the connection of the chunked answer served the second request too
}

TEST_F(ClientTest, ReusesConnectionsThatMayBeKept) {
    ScriptedBackend backend({{answer("1")},
                             {answer("2")},
                             {answer("3", "Connection: close\r\n"), Then::close},
                             {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n4"},
                             {answer("5")}});
    inFiber([&] {
        for (const char* body : {"1", "2", "3", "4", "5"}) EXPECT_EQ(http::get(backend.address(), "/").body(), body);
        EXPECT_EQ(http::Client::shared().stats().idle, 1u);
    });
    EXPECT_EQ(backend.connections(), 2);
}

TEST_F(ClientTest, AStalePooledConnectionIsReplacedByAFreshOneOnce) {
    ScriptedBackend backend({{answer("1")}, {"", Then::close}, {answer("2")}});
    inFiber([&] {
        EXPECT_EQ(http::get(backend.address(), "/").body(), "1");
        EXPECT_EQ(http::get(backend.address(), "/").body(), "2");  // the backend reads it and closes: sent again
    });
    EXPECT_EQ(backend.connections(), 2);
    EXPECT_EQ(backend.requests().size(), 3u);
}

TEST_F(ClientTest, AFreshConnectionThatDiesIsNotTriedAgain) {
    ScriptedBackend backend({{answer("1")}, {"", Then::close}, {"", Then::close}, {answer("never asked for")}});
    inFiber([&] {
        EXPECT_EQ(http::get(backend.address(), "/").body(), "1");
        EXPECT_THROW(http::get(backend.address(), "/"), ClientError);
    });
    EXPECT_EQ(backend.requests().size(), 3u);
}

TEST_F(ClientTest, ARequestIsNotRetriedAfterAPartialAnswer) {
    ScriptedBackend backend(
        {{answer("1")}, {"HTTP/1.1 200 OK\r\nContent-Le", Then::close}, {answer("never asked for")}});
    ErrorCode error;
    inFiber([&] {
        EXPECT_EQ(http::get(backend.address(), "/").body(), "1");
        http::get(backend.address(), "/", {}, error);
    });
    EXPECT_EQ(error, make_error_code(ClientFault::endedEarly));
    EXPECT_EQ(backend.requests().size(), 2u);
}

TEST_F(ClientTest, AConnectionWithBytesBehindTheAnswerIsNotKept) {
    ScriptedBackend backend({{answer("1") + "HTTP/1.1 200 OK\r\n", Then::hang}, {answer("2"), Then::close}});
    inFiber([&] {
        EXPECT_EQ(http::get(backend.address(), "/").body(), "1");
        EXPECT_EQ(http::Client::shared().stats().idle, 0u);
        EXPECT_EQ(http::get(backend.address(), "/").body(), "2");
    });
}

TEST_F(ClientTest, ADownBackendIsNamed) {
    const ReservedPort port;  // nothing listens on it
    const SocketAddress down = port.address();
    inFiber([&] {
        try {
            http::get(down, "/fruits");
            ADD_FAILURE() << "no exception";
        } catch (const ClientError& error) {
            EXPECT_EQ(error.code(), fromErrno(ECONNREFUSED));
            EXPECT_EQ(std::string(error.what())
                          .find("GET http://" + down.toString() +
                                "/fruits: cannot connect; check that the server is running"),
                      0u)
                << error.what();
            EXPECT_EQ(http::codeOf(error.status()), 0u);
        }
    });
    EXPECT_EQ(codeOf(down), fromErrno(ECONNREFUSED));
}

TEST_F(ClientTest, AnExceptionHasTheMethodOfTheRequestAndTheStatusOfAnIncompleteAnswer) {
    ScriptedBackend backend({{"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nabc", Then::close},
                             {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", Then::close},
                             {"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", Then::close}});
    inFiber([&] {
        for (const http::Status status : {http::Status::created, http::Status{}}) {
            try {
                http::get(backend.address(), "/");
                ADD_FAILURE() << "no exception";
            } catch (const ClientError& error) {
                EXPECT_EQ(error.code(), make_error_code(ClientFault::endedEarly));
                EXPECT_EQ(error.status(), status);
            }
        }
        try {
            [[maybe_unused]] const Buffer body = http::Client::shared().post(
                "http://" + backend.address().toString() + "/pear", Buffer::copyOf("x"), "text/plain");
            ADD_FAILURE() << "no exception";
        } catch (const ClientError& error) {
            EXPECT_EQ(
                std::string(error.what()).find("POST http://" + backend.address().toString() + "/pear: status 409"), 0u)
                << error.what();
        }
    });
}

TEST_F(ClientTest, BadResponsesAreRefusedWithAReason) {
    const ErrorCode bad = make_error_code(ClientFault::badResponse);
    expectFault({"SSH-2.0-OpenSSH\r\n", Then::hang}, bad, "does not begin with HTTP/");
    expectFault({"HTTP/2 200 OK\r\n\r\n", Then::hang}, bad, "status line");
    expectFault({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", Then::hang}, bad,
                "both Content-Length and Transfer-Encoding");
    expectFault({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Then::hang}, bad, "bad chunk size");
    expectFault({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", Then::close},
                make_error_code(ClientFault::endedEarly), "ended before the response was complete");
    expectFault({"", Then::close}, make_error_code(ClientFault::endedEarly), "ended before the response was complete");
}

TEST_F(ClientTest, LimitsAreKept) {
    http::GetOptions options;
    options.maxBodyBytes = 4;
    const ErrorCode large = make_error_code(ClientFault::bodyTooLarge);
    expectFault({answer("12345"), Then::hang}, large, "larger than", options);
    expectFault({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n", Then::hang}, large,
                "larger than", options);
    expectFault({"HTTP/1.1 200 OK\r\n\r\n12345", Then::hang}, large, "larger than", options);
    expectFault({"HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x'), Then::hang},
                make_error_code(ClientFault::headTooLarge), "too large");
}

TEST_F(ClientTest, ADeadlineEndsTheWait) {
    http::GetOptions options;
    options.timeout = 200ms;
    expectFault({"HTTP/1.1 200 OK\r\n", Then::hang}, timedOut(), "no complete response in time", options);
    options.timeout = 1h;
    options.deadline = std::chrono::steady_clock::now() + 300ms;
    expectFault({"", Then::hang}, timedOut(), "no complete response in time", options);
}

TEST_F(ClientTest, AnyStatusIsAnAnswerExceptForCallsThatReturnOnlyTheBody) {
    ScriptedBackend backend({{"HTTP/1.1 503 Too Busy\r\nContent-Length: 0\r\n\r\n"},
                             {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"},
                             {answer("yes"), Then::close}});
    inFiber([&] {
        const ClientResponse busy = http::get(backend.address(), "/");
        EXPECT_EQ(busy.status(), http::Status::serviceUnavailable);
        EXPECT_FALSE(busy.succeeded());
        try {
            [[maybe_unused]] const Buffer body = http::get(backend.address(), "/pear");
            ADD_FAILURE() << "no exception";
        } catch (const ClientError& error) {
            EXPECT_EQ(error.status(), http::Status::notFound);
            EXPECT_NE(std::string(error.what()).find("/pear: status 404 Not Found"), std::string::npos) << error.what();
        }
        const Buffer body = http::get(backend.address(), "/");
        EXPECT_EQ(body.view(), "yes");
    });
}

TEST_F(ClientTest, MistakesOfTheCallerAreThrownBeforeAnythingIsSent) {
    const SocketAddress nobody = SocketAddress::loopbackV4(1);
    EXPECT_THROW(http::get(nobody, "/"), std::logic_error);  // not in a fiber
    inFiber([&] {
        for (const char* target : {"", "fruits", "/a b", "/a\r\nX: y"}) {
            EXPECT_THROW(http::get(nobody, target), std::invalid_argument) << target;
        }
        try {
            static_cast<void>(http::get(nobody, "/a\r\nweft: error: forged"));
            ADD_FAILURE() << "no exception";
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find("'GET /a\\x0d\\x0aweft: error: forged'"), std::string::npos)
                << error.what() << ": a log line that quotes it must stay one line";
        }
        http::GetOptions options;
        options.host = "a\r\nb";
        EXPECT_THROW(http::get(nobody, "/", options), std::invalid_argument);
    });
    Promise<void> seen;
    group_.loop(0).execute([&] {
        EXPECT_THROW(http::get(nobody, "/"), BlockingOperationException);
        seen.setValue();
    });
    seen.future().get();
}

TEST_F(ClientTest, ManyFibersAtOnceHaveAConnectionEach) {
    EventLoopGroup serverGroup(groupOptions(1));
    ServerBootstrap bootstrap(serverGroup);
    struct Hello final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
            request.responder().send(http::ok(request.target()));
        }
    };
    bootstrap.childHandler([](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Hello>();
    });
    Server server = bootstrap.bind(anyPort).sync().channel();
    std::vector<JoinHandle<int>> fibers;
    for (int i = 0; i < 20; ++i) {
        fibers.push_back(group_.carriers().carrier(0).spawn([&, i] {
            int right = 0;
            for (int j = 0; j < 10; ++j) {
                const std::string target = "/" + std::to_string(i) + "/" + std::to_string(j);
                right += http::get(server.localAddress(), target).body() == target;
            }
            return right;
        }));
    }
    for (auto& fiber : fibers) EXPECT_EQ(fiber.join(), 10);
    EXPECT_LE(server.liveChildren(), 20u);
    server.drain(20s);
}

}  // namespace
}  // namespace weft::test
