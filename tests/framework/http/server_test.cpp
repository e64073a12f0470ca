// HTTP servers over sockets: which requests still get an answer when a connection or the server ends.
#include <weft/framework/server_bootstrap.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <weft/pipeline/channel_events.hpp>

#include "framework/bench.hpp"
#include "framework/http/eager_peer.hpp"

namespace weft::test {
namespace {

constexpr std::size_t mebibyte = 1 << 20;

// Echoes a POST; answers "/wait" when the test allows it, and everything else at once.
struct Site {
    Promise<void> asked;
    Promise<void> open;
    std::atomic<std::size_t> answered{0};
    std::atomic<std::size_t> mostPending{0};
    ChannelRef latest;  // the last one with a request; set with one loop only
};

class Application final : public SimpleInboundHandler<http::FullRequest> {
  public:
    explicit Application(Site& site) : site_(site) {}

  protected:
    void channelRead0(ChannelHandlerContext& ctx, http::FullRequest request) override {
        if (request.path() == "/wait") {
            site_.asked.setValue();
            return ctx.spawn([open = site_.open.future(), responder = request.responder()]() mutable {
                open.await();
                responder.send(http::ok("at last"));
            });
        }
        if (ctx.channel().loop().carrier()->group().size() == 1) site_.latest = ChannelRef(ctx.channel());
        const bool echo = request.method() == http::Method::post;
        request.responder().send(echo ? http::ok(request.takeBody()) : http::ok("at once"));
        ++site_.answered;
        site_.mostPending = std::max(site_.mostPending.load(), ctx.channel().pendingBytes());
    }

  private:
    Site& site_;
};

Server serve(EventLoopGroup& group, Site& site, http::InputEnd inputEnd = http::InputEnd::cancel) {
    ServerBootstrap bootstrap(group);
    bootstrap.childHandler([&site, inputEnd](Channel& channel) {
        channel.pipeline().addLast<http::ServerCodec>(http::ServerCodecOptions{.inputEnd = inputEnd});
        channel.pipeline().addLast<http::ObjectAggregator>(mebibyte).addLast<Application>(site);
    });
    return bootstrap.bind(anyPort).sync().channel();
}

const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string getAndWait = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";

std::string post(std::size_t bytes) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
           std::string(bytes, '#');
}

std::string receiveAll(BlockingPeer& peer) {
    std::string all;
    for (std::string more = peer.receive(); !more.empty(); more = peer.receive()) all += more;
    return all;
}

struct Answer {
    std::string head;
    std::string body;
    bool saysClose() const { return head.find("Connection: close\r\n") != std::string::npos; }
};

// All answers; each must be whole.
std::vector<Answer> answersIn(std::string_view bytes) {
    std::vector<Answer> answers;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find("\r\n\r\n");
        const std::string head(bytes.substr(0, end + 4));
        const std::size_t length = std::strtoul(head.c_str() + head.find("Content-Length: ") + 16, nullptr, 10);
        if (end == std::string_view::npos || bytes.size() - head.size() < length) {
            ADD_FAILURE() << "an answer was cut, after " << answers.size() << " whole ones: " << head.substr(0, 100);
            break;
        }
        answers.push_back({head, std::string(bytes.substr(head.size(), length))});
        bytes.remove_prefix(head.size() + length);
    }
    return answers;
}

TEST(HttpServerTest, ARequestWithTheEndOfTheOutputBehindItIsAnswered) {
    Site site;
    EventLoopGroup group(groupOptions(2));
    Server server = serve(group, site);
    for (int i = 0; i < 25; ++i) {
        BlockingPeer peer(server.localAddress());
        peer.send(get);
        peer.endOutput();
        EXPECT_TRUE(receiveAll(peer).ends_with("at once")) << i;
    }
}

TEST(HttpServerTest, ALargeBodyWithTheEndOfTheOutputBehindItIsEchoed) {
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, site);
    for (int i = 0; i < 5; ++i) {
        BlockingPeer peer(server.localAddress());
        peer.send(post(mebibyte));
        peer.endOutput();
        const auto answers = answersIn(receiveAll(peer));
        ASSERT_EQ(answers.size(), 1u) << i;
        EXPECT_EQ(answers[0].body.size(), mebibyte) << i;
    }
}

TEST(HttpServerTest, AnEndInsideABodyLeavesEarlierAnswersIntactUnderInputEndAnswer) {
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, site, http::InputEnd::answer);
    BlockingPeer peer(server.localAddress());
    peer.send(get + getAndWait + post(100).substr(0, 90));
    peer.endOutput();
    site.asked.future().get();
    site.open.setValue();
    const auto answers = answersIn(receiveAll(peer));
    ASSERT_EQ(answers.size(), 3u);
    EXPECT_EQ(answers[0].body, "at once");
    EXPECT_EQ(answers[1].body, "at last");
    EXPECT_EQ(answers[2].head.substr(0, 13), "HTTP/1.1 400 ");
}

// ---- a peer that does not read ----

std::string posts(std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += post(mebibyte);
    return bytes;
}

TEST(HttpServerTest, APeerThatDoesNotReadIsNotReadFromAndGetsEverythingOnceItReads) {
    constexpr std::size_t requests = 60;
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, site);
    EagerPeer peer(server.localAddress(), posts(requests));
    peer.sendUntilStuck();
    EXPECT_FALSE(peer.hasSentAll()) << "the server takes whatever comes";
    EXPECT_LE(site.mostPending.load(), 2 * mebibyte);
    EXPECT_EQ(answersIn(peer.receive(requests * mebibyte)).size(), requests);
    EXPECT_LE(site.mostPending.load(), 2 * mebibyte);
}

// ---- drains ----

TEST(HttpServerTest, ADrainLeavesASlowReaderItsWholeAnswersAndTheLastSaysClose) {
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, site);
    auto peer = std::make_unique<EagerPeer>(server.localAddress(), posts(60));
    peer->sendUntilStuck();
    if (peer->hasSentAll()) {  // a server that accepts everything has nothing left but to send
        EXPECT_TRUE(eventually([&] { return site.answered == 60u; }));
    }
    std::thread drainer([&] { EXPECT_EQ(server.drain(60s), 0u); });
    EXPECT_TRUE(eventually([&] { return server.listeners()[0]->closed(); }));
    const auto answers = answersIn(peer->receive());
    peer.reset();
    drainer.join();
    ASSERT_FALSE(answers.empty());
    for (const Answer& answer : answers) EXPECT_EQ(answer.body.size(), mebibyte);
    EXPECT_TRUE(answers.back().saysClose());
}

TEST(HttpServerTest, ADrainAnswersTheRequestsThatWaitInTheKernel) {
    constexpr std::size_t connections = 64;
    for (int round = 0; round < 10; ++round) {
        Site site;
        EventLoopGroup group(groupOptions(2));
        Server server = serve(group, site);
        std::vector<std::unique_ptr<BlockingPeer>> peers;
        for (std::size_t i = 0; i < connections; ++i) {
            peers.push_back(std::make_unique<BlockingPeer>(server.localAddress()));
            peers.back()->send(get);
        }
        for (auto& peer : peers) peer->receive();  // each is known to the server, and idle
        for (auto& peer : peers) peer->send(get);
        std::thread drainer([&] { EXPECT_EQ(server.drain(20s), 0u); });
        for (auto& peer : peers) EXPECT_TRUE(receiveAll(*peer).ends_with("at once"));
        peers.clear();
        drainer.join();
    }
}

TEST(HttpServerTest, ADrainAnswersWhatAnIdleConnectionHasInTheKernelAndSaysClose) {
    Site site;
    EventLoopGroup group(groupOptions(1));
    Server server = serve(group, site);
    BlockingPeer peer(server.localAddress());
    peer.send(get);
    peer.receive();
    std::atomic<bool> sent{false};
    Promise<void> begun;
    Future<void> holding = begun.future();
    group.loop(0).execute([&] {  // bytes that arrive now stay in the kernel until the drain has begun
        begun.setValue();
        while (!sent) std::this_thread::yield();
        site.latest->pipeline().fireUserEventTriggered(Message(DrainStarted{}));
    });
    holding.get();
    peer.send(get + get);
    sent = true;
    const auto answers = answersIn(receiveAll(peer));
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_TRUE(answers[1].saysClose());
}

}  // namespace
}  // namespace weft::test
