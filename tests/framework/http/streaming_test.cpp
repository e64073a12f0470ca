// Bodies in both directions over sockets, read and written by fibers; client pipelines; other protocols; timeouts.
#include <weft/framework/server_bootstrap.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "framework/bench.hpp"
#include "framework/http/eager_peer.hpp"

namespace weft::test {
namespace {

constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t readCycle = 16 * 64 * 1024;  // bytes that may arrive before a stop of reading takes effect

template <class Fill>
Server serve(EventLoopGroup& group, Fill fill) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([fill](Channel& channel) { fill(channel.pipeline()); });
    return bootstrap.bind(anyPort).sync().channel();
}

std::string post(std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
           std::string(bytes, '#');
}

std::size_t countOf(const std::string& text, char c) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), c));
}

// What the fibers of a server observe; read after they have ended.
struct Site {
    Promise<void> begun;
    Promise<void> open;  // a fiber waits for it before it reads
    Promise<std::size_t> ended;
    std::atomic<std::size_t> mostHeld{0};
    std::atomic<std::size_t> mostPending{0};
};

// A fiber counts the body of each request.
struct Counting final : SimpleInboundHandler<http::StreamedRequest> {
    explicit Counting(Site& site) : site(site) {}
    void channelRead0(ChannelHandlerContext& ctx, http::StreamedRequest request) override {
        ctx.spawn([&site = site, responder = request.responder(), body = request.takeBody()]() mutable {
            site.begun.setValue();
            site.open.future().await();
            std::size_t read = 0;
            for (;;) {
                site.mostHeld = std::max(site.mostHeld.load(), body.available());
                const std::optional<Buffer> piece = body.read();
                if (!piece) break;
                read += piece->readableBytes();
            }
            responder.send(http::ok(std::to_string(read) + "!"));
        });
    }
    Site& site;
};

TEST(HttpStreamingTest, AFiberThatDoesNotReadStopsTheUploadAndThenGetsAllOfIt) {
    constexpr std::size_t size = 30 * mebibyte;
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [&site](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::BodyStreamer>().addLast<Counting>(site);
    });
    EagerPeer peer(server.localAddress(), post(size));
    peer.sendUntilStuck();
    EXPECT_FALSE(peer.hasSentAll()) << "the server takes whatever comes";
    site.open.setValue();
    EXPECT_TRUE(peer.receive(1, '!').ends_with(std::to_string(size) + "!"));
    EXPECT_LE(site.mostHeld.load(), http::BodyReader::highMark + 2 * readCycle);
}

// Sends each piece back as it arrives.
struct Echoing final : SimpleInboundHandler<http::StreamedRequest> {
    explicit Echoing(Site& site) : site(site) {}
    void channelRead0(ChannelHandlerContext& ctx, http::StreamedRequest request) override {
        ctx.spawn([&site = site, responder = request.responder(), body = request.takeBody()]() mutable {
            http::BodyWriter out = responder.begin(http::Response(http::Status::ok));
            while (std::optional<Buffer> piece = body.read()) {
                out.send(std::move(*piece));
                site.mostHeld = std::max(site.mostHeld.load(), body.available());
                site.mostPending = std::max(site.mostPending.load(), out.channel().pendingBytes());
            }
            out.end();
        });
    }
    Site& site;
};

TEST(HttpStreamingTest, AnEchoOfAnyLengthToAClientThatDoesNotReadNeedsLittleMemory) {
    constexpr std::size_t size = 30 * mebibyte;
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [&site](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::BodyStreamer>().addLast<Echoing>(site);
    });
    EagerPeer peer(server.localAddress(), post(size));
    peer.sendUntilStuck();
    EXPECT_FALSE(peer.hasSentAll()) << "the server takes whatever comes";
    EXPECT_EQ(countOf(peer.receive(size), '#'), size);
    EXPECT_LE(site.mostHeld.load(), http::BodyReader::highMark + 2 * readCycle);
    EXPECT_LE(site.mostPending.load(), http::BodyWriter::window + 2 * 64 * 1024 + 10'000);
}

TEST(HttpStreamingTest, ADownloadWaitsForItsClient) {
    constexpr std::size_t piece = 64 * 1024;
    constexpr std::size_t pieces = 320;
    struct Downloads final : SimpleInboundHandler<http::FullRequest> {
        explicit Downloads(Site& site) : site(site) {}
        void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
            ctx.spawn([&site = site, responder = request.responder()]() mutable {
                http::BodyWriter body = responder.begin(http::Response(http::Status::ok));
                for (std::size_t i = 0; i < pieces; ++i) {
                    body.send(Buffer::copyOf(std::string(piece, '#')));
                    site.mostPending = std::max(site.mostPending.load(), body.channel().pendingBytes());
                }
                body.end();
            });
        }
        Site& site;
    };
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [&site](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Downloads>(site);
    });
    BlockingPeer peer(server.localAddress());
    peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    std::size_t received = 0;
    while (received < piece * pieces) {
        const std::string more = peer.receive(10'000);
        ASSERT_FALSE(more.empty());
        received += countOf(more, '#');
    }
    EXPECT_LE(site.mostPending.load(), http::BodyWriter::window + 2 * piece + 10'000);
}

TEST(HttpStreamingTest, FibersAnswerAHeadWithTheLengthAndNoBodyByte) {
    struct Application final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
            ctx.spawn([responder = request.responder(), streamed = request.path() == "/streamed"]() mutable {
                if (!streamed) return responder.send(http::ok("12345"));
                http::Response head(http::Status::ok);
                head.hasLength = true;
                head.contentLength = 5;
                http::BodyWriter body = responder.begin(std::move(head));
                body.send(Buffer::copyOf("12345"));
                body.end();
            });
        }
    };
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Application>();
    });
    BlockingPeer peer(server.localAddress());
    for (const char* path : {"/whole", "/streamed"}) {
        peer.send("HEAD " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::string head = peer.receive();
        EXPECT_NE(head.find("\r\nContent-Length: 5\r\n"), std::string::npos) << head;
        EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
    }
    peer.send("GET /streamed HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    std::string answer;
    for (std::string more = peer.receive(); !more.empty(); more = peer.receive()) answer += more;
    EXPECT_EQ(answer.substr(0, 8), "HTTP/1.1") << "nothing was left over";
    EXPECT_TRUE(answer.ends_with("\r\n\r\n12345")) << answer;
}

TEST(HttpStreamingTest, AClientThatVanishesInsideABodyEndsTheFiberThatReadsIt) {
    struct Reading final : SimpleInboundHandler<http::StreamedRequest> {
        explicit Reading(Site& site) : site(site) {}
        void channelRead0(ChannelHandlerContext& ctx, http::StreamedRequest request) override {
            ctx.spawn([&site = site, responder = request.responder(), body = request.takeBody()]() mutable {
                site.begun.setValue();
                ErrorCode error;
                std::size_t read = 0;
                while (std::optional<Buffer> piece = body.read(error)) read += piece->readableBytes();
                EXPECT_EQ(error, fromErrno(ECONNABORTED));
                site.ended.setValue(read);
            });
        }
        Site& site;
    };
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [&site](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::BodyStreamer>().addLast<Reading>(site);
    });
    BlockingPeer peer(server.localAddress());
    peer.send(post(1'000).substr(0, 500));
    site.begun.future().get();
    peer.reset();
    EXPECT_LT(site.ended.future().get(), 500u);
}

// ---- a client pipeline ----

struct Answers {
    std::deque<std::string> texts;
    std::size_t wanted = 0;
    Promise<void> all;
};

struct Collecting final : SimpleInboundHandler<http::FullResponse> {
    explicit Collecting(Answers& answers) : answers(answers) {}
    void channelRead0(ChannelHandlerContext&, http::FullResponse response) override {
        answers.texts.push_back(std::to_string(response.ticket()) + ":" +
                                std::to_string(http::codeOf(response.status())) + " " + std::string(response.body()) +
                                std::string(response.trailers().find("X-Sum").value_or("")));
        if (answers.texts.size() == answers.wanted) answers.all.setValue();
    }
    Answers& answers;
};

TEST(HttpClientPipelineTest, PipelinedRequestsWithBodiesAndTrailersAreAnsweredInOrder) {
    struct Application final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
            http::BodyWriter body = request.responder().begin(http::Response(http::Status::ok));
            body.write(Buffer::copyOf(request.target()));
            body.write(request.takeBody());
            http::HeaderList trailers;
            trailers.add("X-Sum", request.trailers().size() > 0 ? request.trailers().at(0).value : "none");
            body.end(std::move(trailers));
        }
    };
    EventLoopGroup group(groupOptions(2));
    Server server = serve(group, [](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Application>();
    });
    Answers answers;
    answers.wanted = 3;
    Bootstrap bootstrap(group);
    bootstrap.handler([&answers](Channel& channel) {
        channel.pipeline().addLast<http::ClientCodec>(http::ClientCodecOptions{.host = "x"});
        channel.pipeline().addLast<http::ResponseAggregator>().addLast<Collecting>(answers);
    });
    const ChannelRef channel = bootstrap.connect(server.localAddress()).sync().channel();
    channel->write(Message(http::ClientRequest(http::Method::get, "/a")));
    http::ClientRequest streamed(http::Method::post, "/b");
    streamed.streamed = true;
    channel->write(Message(std::move(streamed)));
    channel->write(Message(http::Content{Buffer::copyOf("-body")}));
    auto trailers = std::make_unique<http::HeaderList>();
    trailers->add("X-Sum", "seven");
    channel->write(Message(http::LastContent{http::noTicket, std::move(trailers)}));
    channel->writeAndFlush(Message(http::ClientRequest(http::Method::head, "/c")));
    answers.all.future().get();
    EXPECT_EQ(answers.texts, (std::deque<std::string>{"1:200 /anone", "2:200 /b-bodyseven", "3:200 "}));
    channel->close().await();
}

// ---- another protocol ----

TEST(HttpSwitchTest, H7_TheBytesBehindAnUpgradeReachTheNewProtocolOverSocketsToo) {
    struct Switching final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
            ctx.spawn([responder = request.responder()]() mutable { responder.send(http::switchTo("echo")); });
        }
        void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override {
            if (!event.is<http::ProtocolSwitched>()) return;
            ChannelPipeline& pipeline = ctx.pipeline();
            pipeline.remove<http::ObjectAggregator>();
            pipeline.replace<Echo>(*pipeline.get<http::ServerCodec>());
            pipeline.remove(*this);
        }
    };
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>().addLast<http::ObjectAggregator>().addLast<Switching>();
    });
    BlockingPeer peer(server.localAddress());
    peer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nfirst");
    const std::string head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
    EXPECT_EQ(peer.receiveExactly(head.size() + 5), head + "first");
    EXPECT_EQ(echoed(peer, "second"), "second");
}

// ---- timeout ----

TEST(HttpTimeoutsTest, ASlowHeadIs408AndAnIdleConnectionIsClosedWhileOthersAreServed) {
    struct Hello final : SimpleInboundHandler<http::FullRequest> {
        void channelRead0(ChannelHandlerContext&, http::FullRequest request) override {
            request.responder().send(http::ok("hello"));
        }
    };
    http::ServerCodecOptions options;
    options.timeouts.head = 500ms;  // also the limit of what the clients do at once
    options.timeouts.idle = 1s;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, [options](ChannelPipeline& pipeline) {
        pipeline.addLast<http::ServerCodec>(options).addLast<http::ObjectAggregator>().addLast<Hello>();
    });
    BlockingPeer slow(server.localAddress());
    slow.send("GET / HT");
    BlockingPeer silent(server.localAddress());
    BlockingPeer idle(server.localAddress());
    idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(idle.receive().ends_with("hello"));
    EXPECT_EQ(slow.receive().substr(0, 13), "HTTP/1.1 408 ");
    EXPECT_EQ(silent.receive(), "");
    EXPECT_EQ(idle.receive(), "");
    BlockingPeer other(server.localAddress());
    other.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(other.receive().ends_with("hello"));
}

}  // namespace
}  // namespace weft::test
