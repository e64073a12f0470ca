// http::Client with requests and responses in pieces.
#include <atomic>
#include <string>

#include <weft/http/client_exchange.hpp>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "framework/http/client_bench.hpp"
#include "framework/http/scripted_backend.hpp"

namespace weft::test {
namespace {

using http::Client;
using http::ClientExchange;
using http::ClientRequest;
using http::Method;
using Then = ScriptedAnswer::Then;

ClientRequest streamed(Method method, std::string target) {
    ClientRequest request(method, std::move(target));
    request.streamed = true;
    return request;
}

ClientRequest streamed(std::uint64_t length) {
    ClientRequest request = streamed(Method::post, "/");
    request.hasLength = true;
    request.contentLength = length;
    return request;
}

std::string rest(ClientExchange& exchange) {
    std::string all;
    while (const auto piece = exchange.read()) all += piece->view();
    return all;
}

// Sends the body back as it arrives, followed by its trailers.
void echo(http::StreamedRequest& request, http::Responder responder) {
    http::BodyReader body = request.takeBody();
    http::BodyWriter out = responder.begin(http::Response(http::Status::ok));
    while (auto piece = body.read()) out.send(std::move(*piece));
    out.end(body.trailers());
}

class ClientExchangeTest : public ClientBench {};

TEST_F(ClientExchangeTest, BodiesGoBothWaysAtOnce) {
    FiberServer server(&echo);
    const Client client;
    constexpr int pieces = 400;
    const std::string piece(16'384, 'x');
    inFiber([&] {
        ClientExchange exchange = client.begin(server.address(), streamed(Method::post, "/"));
        JoinHandle<void> sender = carrier().spawn([&] {
            for (int i = 0; i < pieces; ++i) exchange.send(Buffer::copyOf(piece));
            http::HeaderList trailers;
            trailers.add("Digest", "none");
            exchange.end(trailers);
        });
        EXPECT_EQ(exchange.response().status(), http::Status::ok);
        EXPECT_EQ(rest(exchange).size(), pieces * piece.size());
        EXPECT_EQ(exchange.trailers().find("digest"), "none");
        sender.join();
        EXPECT_EQ(client.stats().idle, 1u);
    });
}

TEST_F(ClientExchangeTest, ABodyMustHaveItsDeclaredLength) {
    FiberServer server(&echo);
    const Client client;
    inFiber([&] {
        ClientExchange exact = client.begin(server.address(), streamed(6));
        exact.send(Buffer::copyOf("abc"));
        EXPECT_THROW(exact.end(), std::logic_error);
        EXPECT_THROW(exact.send(Buffer::copyOf("defg")), std::logic_error);
        exact.send(Buffer::copyOf("def"));
        exact.end();
        EXPECT_THROW(exact.end(), std::logic_error);
        EXPECT_EQ(rest(exact), "abcdef");
        EXPECT_EQ(client.stats().idle, 1u);
    });
}

TEST_F(ClientExchangeTest, ForbiddenTrailersAreRefusedAndTheBodyMayStillEnd) {
    FiberServer server(&echo);
    const Client client;
    inFiber([&] {
        ClientExchange exchange = client.begin(server.address(), streamed(Method::put, "/"));
        http::HeaderList bad;
        bad.add("Content-Length", "1");
        EXPECT_THROW(exchange.end(bad), std::invalid_argument);
        exchange.end();
        EXPECT_EQ(rest(exchange), "");
    });
}

// The server is ahead of the reader by at most the kernel's buffers and its own window: far less than the whole.
TEST_F(ClientExchangeTest, AResponseThatIsNotReadHoldsItsServerBack) {
    constexpr std::size_t total = 96 << 20;
    constexpr std::size_t bound = 32 << 20;
    std::atomic<std::size_t> sent{0};
    FiberServer server([&](http::StreamedRequest&, http::Responder responder) {
        http::BodyWriter out = responder.begin(http::Response(http::Status::ok));
        const std::string piece(1 << 16, 'x');
        for (; sent < total; sent += piece.size()) out.send(Buffer::copyOf(piece));
        out.end();
    });
    const Client client;
    inFiber([&] {
        ClientExchange exchange = client.begin(server.address(), ClientRequest(Method::get, "/"));
        std::size_t received = 0;
        std::size_t furthest = 0;
        while (const auto piece = exchange.read()) {
            if (received < (1 << 20)) thisFiber::sleepFor(1ms);  // gives the server time to run ahead
            received += piece->readableBytes();
            const std::size_t out = sent;
            furthest = std::max(furthest, out - std::min(received, out));
        }
        EXPECT_EQ(received, total);
        EXPECT_LT(furthest, bound);
    });
}

TEST_F(ClientExchangeTest, ARequestBodyThatIsNotReadHoldsItsSenderBack) {
    constexpr std::size_t total = 96 << 20;
    constexpr std::size_t bound = 32 << 20;
    std::atomic<std::size_t> sent{0};
    Promise<void> gate;
    const Future<void> opened = gate.future();
    std::size_t atGate = 0;
    FiberServer server([&](http::StreamedRequest& request, http::Responder responder) {
        opened.await();
        std::size_t received = 0;
        http::BodyReader body = request.takeBody();
        while (const auto piece = body.read()) received += piece->readableBytes();
        responder.send(http::ok(std::to_string(received)));
    });
    const Client client;
    inFiber([&] {
        ClientExchange exchange = client.begin(server.address(), streamed(total));
        JoinHandle<void> sender = carrier().spawn([&] {
            const std::string piece(1 << 16, 'x');
            for (; sent < total; sent += piece.size()) exchange.send(Buffer::copyOf(piece));
            exchange.end();
        });
        std::size_t before = 1;
        while (before != sent) {  // until `sent` stops growing
            before = sent;
            thisFiber::sleepFor(50ms);
        }
        atGate = sent;
        gate.setValue();
        EXPECT_EQ(rest(exchange), std::to_string(total));
        sender.join();
    });
    EXPECT_LT(atGate, bound);
}

// Reads bodies once a gate is open, and notes whether anything but the first piece arrived.
class LateReader {
  public:
    const SocketAddress& address() const { return server_.address(); }
    void open() { gate_.setValue(); }
    // Waits for the end of a body that is cut off.
    bool gotMoreThanTheFirstPiece() { return more_.future().get(); }

  private:
    void read(http::StreamedRequest& request) {
        opened_.await();
        http::BodyReader body = request.takeBody();
        bool more = false;
        ErrorCode error;
        for (;;) {
            const auto piece = body.read(error);
            if (error || !piece) break;
            more = more || piece->view().find('b') != std::string_view::npos;
        }
        EXPECT_TRUE(error) << "the body is complete";
        more_.setValue(more);
    }

    Promise<void> gate_;
    const Future<void> opened_ = gate_.future();
    Promise<bool> more_;
    FiberServer server_{[this](http::StreamedRequest& request, http::Responder) { read(request); }};
};

constexpr std::size_t moreThanTheKernelHolds = 96 << 20;

class AfterAPartOfAPieceTest : public ClientExchangeTest, public ::testing::WithParamInterface<bool> {
  protected:
    static ClientRequest request() {
        return GetParam() ? streamed(moreThanTheKernelHolds + 1) : streamed(Method::post, "/");
    }
    static void expectNothingMoreIsSent(ClientExchange& exchange, const ErrorCode& because) {
        ErrorCode error;
        exchange.send(Buffer::copyOf("b"), error);
        EXPECT_EQ(error, because) << error.message();
        exchange.end(http::noTrailers(), error);
        EXPECT_EQ(error, because) << error.message();
    }
};
INSTANTIATE_TEST_SUITE_P(, AfterAPartOfAPieceTest, ::testing::Bool(), [](const auto& form) {
    return std::string(form.param ? "OfABodyOfKnownLength" : "InChunks");
});

TEST_P(AfterAPartOfAPieceTest, NothingMoreIsSentWhenTheTimeIsUp) {
    LateReader server;
    const Client client;
    inFiber([&] {
        {
            ClientExchange exchange = client.begin(server.address(), request());
            exchange.setDeadline(deadlineAfter(20ms));
            ErrorCode error;
            exchange.send(Buffer::copyOf(std::string(moreThanTheKernelHolds, 'a')), error);
            EXPECT_EQ(error, timedOut());
            exchange.setDeadline(testDeadline());
            server.open();
            expectNothingMoreIsSent(exchange, timedOut());
        }
        EXPECT_FALSE(server.gotMoreThanTheFirstPiece());
        EXPECT_EQ(client.stats().idle, 0u);
    });
}

TEST_P(AfterAPartOfAPieceTest, NothingMoreIsSentWhenItMustNotWait) {
    LateReader server;
    const Client client;
    inFiber([&] {
        {
            ClientExchange exchange = client.begin(server.address(), request());
            {
                const NonSuspendingScope here;
                EXPECT_THROW(exchange.send(Buffer::copyOf(std::string(moreThanTheKernelHolds, 'a'))),
                             BlockingOperationException);
            }
            server.open();
            expectNothingMoreIsSent(exchange, operationAborted());
        }
        EXPECT_FALSE(server.gotMoreThanTheFirstPiece());
    });
}

TEST_F(ClientExchangeTest, CancelEndsAWait) {
    ScriptedBackend backend({{"", Then::hang}});
    const Client client;
    inFiber([&] {
        ClientExchange exchange = client.begin(backend.address(), ClientRequest(Method::get, "/"));
        JoinHandle<void> other = carrier().spawn([&] { exchange.cancel(); });
        ErrorCode error;
        exchange.response(error);
        EXPECT_EQ(error, operationAborted());
        other.join();
        EXPECT_EQ(client.stats().retried, 0u);
    });
}

TEST_F(ClientExchangeTest, AnExchangeDroppedBeforeItsEndClosesItsConnection) {
    FiberServer server([](http::StreamedRequest&, http::Responder responder) {
        http::BodyWriter out = responder.begin(http::Response(http::Status::ok));
        try {
            for (;;) out.send(Buffer::copyOf("again and again"));
        } catch (const ClosedChannelException&) {
        }
    });
    const Client client;
    inFiber([&] {
        {
            ClientExchange exchange = client.begin(server.address(), ClientRequest(Method::get, "/"));
            EXPECT_TRUE(exchange.read()->view().starts_with("again"));
            EXPECT_EQ(client.stats().inUse, 1u);
        }
        EXPECT_EQ(client.stats().inUse, 0u);
        EXPECT_EQ(client.stats().idle, 0u);
        EXPECT_TRUE(soon([&] { return server.connections() == 0; }));
    });
}

TEST_F(ClientExchangeTest, TheDeadlineMayBeMovedForEachWait) {
    Promise<void> gate;
    const Future<void> opened = gate.future();
    FiberServer server([&](http::StreamedRequest&, http::Responder responder) {
        http::BodyWriter out = responder.begin(http::Response(http::Status::ok));
        out.send(Buffer::copyOf("half"));
        opened.await();
        out.send(Buffer::copyOf("other half"));
        out.end();
    });
    const Client client;
    inFiber([&] {
        http::RequestOptions options;
        options.timeout = 1h;
        ClientExchange exchange = client.begin(server.address(), ClientRequest(Method::get, "/"), options);
        EXPECT_EQ(exchange.response().header("Transfer-Encoding"), "chunked");
        EXPECT_EQ(exchange.read()->view(), "half");
        exchange.setDeadline(std::chrono::steady_clock::now() + 10ms);
        ErrorCode error;
        EXPECT_FALSE(exchange.read(error));
        EXPECT_EQ(error, timedOut());
        EXPECT_THROW(exchange.read(), http::ClientError);
        gate.setValue();
        exchange.setDeadline(never);
        EXPECT_EQ(rest(exchange), "other half");
    });
}

TEST_F(ClientExchangeTest, AReadThatReturnsAPieceClearsTheError) {
    ScriptedBackend backend({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Then::close}});
    const Client client;
    inFiber([&] {
        ClientExchange exchange = client.begin(backend.address(), ClientRequest(Method::get, "/"));
        exchange.response();  // the piece arrives with the head
        ErrorCode error = timedOut();
        const std::optional<Buffer> piece = exchange.read(error);
        ASSERT_TRUE(piece);
        EXPECT_EQ(piece->view(), "ok");
        EXPECT_FALSE(error);
    });
}

// Waits until the timeout has passed since the request began, then for a piece that is sent only while it waits. A slow
// machine may miss that wait, too; a timeout of the whole body misses it each time.
TEST_F(ClientExchangeTest, TheTimeoutIsOfEachWaitAndNotOfTheWholeBody) {
    std::atomic<Promise<void>*> gate{nullptr};  // no sanitizer sees that a request orders it
    FiberServer server([&](http::StreamedRequest&, http::Responder responder) {
        const Future<void> opened = gate.load()->future();
        http::BodyWriter out = responder.begin(http::Response(http::Status::ok));
        out.send(Buffer::copyOf("half"));
        opened.await();
        out.send(Buffer::copyOf("other half"));
        out.end();
    });
    const Client client;
    const auto readsOnAfterTheTimeout = [&] {
        http::RequestOptions options;
        options.timeout = 250ms;
        Promise<void> opening;
        gate = &opening;
        ErrorCode error;
        ClientExchange exchange = client.begin(server.address(), ClientRequest(Method::get, "/"), options);
        const Deadline passed = deadlineAfter(options.timeout);
        static_cast<void>(exchange.read(error));
        thisFiber::sleepUntil(passed);
        JoinHandle<void> opener = carrier().spawn([&] { opening.setValue(); });  // runs once this fiber waits
        const auto piece = exchange.read(error);
        opener.join();
        return piece && piece->view() == "other half";
    };
    inFiber([&] {
        bool read = false;
        for (int attempt = 0; attempt < 20 && !read; ++attempt) read = readsOnAfterTheTimeout();
        EXPECT_TRUE(read);
    });
}

TEST_F(ClientExchangeTest, AnAnswerWithoutABodyIsCompleteWithItsHead) {
    ScriptedBackend backend(
        {{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"},
         {"HTTP/1.1 204 No Content\r\n\r\n"},
         {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", Then::close}});
    const Client client;
    inFiber([&] {
        ClientExchange head = client.begin(backend.address(), ClientRequest(Method::head, "/"));
        EXPECT_EQ(head.response().header("Content-Length"), "9");
        EXPECT_FALSE(head.read());
        ClientExchange none = client.begin(backend.address(), ClientRequest(Method::get, "/"));
        EXPECT_EQ(none.response().status(), http::Status::noContent);
        EXPECT_FALSE(none.read());
        ClientExchange same = client.begin(backend.address(), ClientRequest(Method::get, "/"));
        EXPECT_EQ(same.response().status(), http::Status::notModified);
        EXPECT_EQ(client.stats().opened, 1u);
    });
}

}  // namespace
}  // namespace weft::test
