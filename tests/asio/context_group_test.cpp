// ContextGroup: contexts of a server's carriers, together with its channels and fibers.
#include <weft/asio_io/context_group.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/framework/event_loop_group.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/io_handler_decorator.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "framework/bench.hpp"
#include "support/log_capture.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

EventLoopGroupOptions withAsio(unsigned carriers) {
    EventLoopGroupOptions options;
    options.name = "test";
    options.carriers = carriers;
    options.ioHandler = AsioIoHandler::wrap;
    return options;
}

template <class Executor>
void runOn(const Executor& executor, std::function<void()> block) {
    Promise<void> done;
    const Future<void> ran = done.future();
    asio::post(executor, [block = std::move(block), done = std::move(done)]() mutable {
        block();
        done.setValue();
    });
    ran.get();
}

TEST(ContextGroupTest, EachContextRunsOnItsCarrierWithoutRun) {
    EventLoopGroup group(withAsio(2));
    ContextGroup contexts(group);
    ASSERT_EQ(contexts.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto check = [&] {
            EXPECT_EQ(Carrier::current(), &group.carriers().carrier(i));
            EXPECT_EQ(contexts.get_executor(), contexts.context(i).get_executor()) << "the carrier's own";
        };
        runOn(contexts.context(i).get_executor(), check);
        runOn(static_cast<asio::io_context&>(contexts.context(i)).get_executor(), check);
    }
    EXPECT_NE(&contexts.next(), &contexts.next()) << "from outside, in turns";
}

TEST(ContextGroupTest, RunIsRefused) {
    EventLoopGroup group(withAsio(1));
    ContextGroup contexts(group);
    EXPECT_THROW(contexts.context(0).run(), std::logic_error);
}

TEST(ContextGroupTest, AGroupWithoutTheDecoratorIsRefusedWithTheRemedy) {
    EventLoopGroupOptions plain = withAsio(1);
    plain.ioHandler = {};
    EventLoopGroup group(plain);
    try {
        ContextGroup contexts(group);
        FAIL();
    } catch (const std::logic_error& refused) {
        EXPECT_NE(std::string(refused.what()).find("ioHandler = asio_io::AsioIoHandler::wrap"), std::string::npos);
    }
}

TEST(ContextGroupTest, AHandlerThatThrowsIsLoggedAndTheOthersGoOn) {
    EventLoopGroup group(withAsio(1));
    ContextGroup contexts(group);
    test::LogCapture log;
    asio::post(contexts.get_executor(), [] { throw std::runtime_error("of a handler"); });
    runOn(contexts.get_executor(), [] {});
    EXPECT_EQ(log.count("of a handler"), 1) << log.text();
}

TEST(ContextGroupTest, StopHoldsItsHandlersUntilRestart) {
    EventLoopGroup group(withAsio(1));
    ContextGroup contexts(group);
    Context& context = contexts.context(0);
    runOn(context.get_executor(), [&] { context.stop(); });
    std::atomic<int> ran{0};
    asio::post(context, [&] { ++ran; });
    asio::post(static_cast<asio::io_context&>(context), [&] { ++ran; });
    Promise<void> turned;
    const Future<void> later = turned.future();
    context.loop().execute([&] { turned.setValue(); });
    later.get();
    EXPECT_EQ(ran, 0);
    context.restart();
    runOn(context.get_executor(), [] {});
    runOn(static_cast<asio::io_context&>(context).get_executor(), [] {});
    EXPECT_EQ(ran, 2);
}

// One carrier, one thread: one echo over Weft's channels and one over Asio's sockets.
TEST(ContextGroupTest, ChannelsAndSocketsOfAsioShareACarrier) {
    std::array<char, 5> bytes;
    Promise<void> answered;
    const Future<void> answer = answered.future();
    EventLoopGroup group(withAsio(1));
    ContextGroup contexts(group);
    Server server = test::serveEcho(group);
    tcp::acceptor acceptor(contexts.context(0), {asio::ip::address_v4::loopback(), 0});
    tcp::socket served(contexts.context(0));
    acceptor.async_accept(served, [&](auto error) {
        ASSERT_FALSE(error);
        asio::async_read(served, asio::buffer(bytes), [&](auto failed, std::size_t) {
            ASSERT_FALSE(failed);
            asio::async_write(served, asio::buffer(bytes), [&](auto, std::size_t) { answered.setValue(); });
        });
    });
    test::BlockingPeer channelPeer(server.localAddress());
    test::BlockingPeer asioPeer(SocketAddress("127.0.0.1", acceptor.local_endpoint().port()));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(test::echoed(channelPeer, "hello"), "hello");
    EXPECT_EQ(test::echoed(asioPeer, "howdy"), "howdy");
    answer.get();  // no part of the sockets is used any more
}

TEST(ContextGroupTest, HandlersThatFollowOneAnotherWithoutEndLeaveChannelsTheirTurn) {
    std::atomic<bool> goesOn{true};
    std::function<void()> again;  // outlives the handlers
    EventLoopGroup group(withAsio(1));
    ContextGroup contexts(group);
    Server server = test::serveEcho(group);
    again = [&] {
        if (goesOn) asio::post(contexts.context(0), again);
    };
    asio::post(contexts.context(0), again);
    test::BlockingPeer peer(server.localAddress());
    for (int i = 0; i < 10; ++i) EXPECT_EQ(test::echoed(peer, "hello"), "hello");
    goesOn = false;
}

// Asio asks for events only after all that was posted before.
TEST(ContextGroupTest, ALongQueueLeavesChannelsTheirTurn) {
    EventLoopGroup group(withAsio(1));
    ContextGroup contexts(group);
    Server server = test::serveEcho(group);
    constexpr int all = 400'000;
    std::atomic<bool> posted{false};
    std::atomic<bool> over{false};
    std::atomic<int> left{all};
    asio::post(contexts.context(0), [&] {  // so that Asio looks for events behind all that follows
        while (!posted) std::this_thread::yield();
    });
    for (int i = 0; i < all; ++i) {
        asio::post(contexts.context(0), [&] {
            const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
            while (!over && std::chrono::steady_clock::now() < end) continue;
            --left;
        });
    }
    posted = true;
    while (left > all - 1'000)
        std::this_thread::yield();  // many turns: events of the start are no reason to look any more
    test::BlockingPeer peer(server.localAddress());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(test::echoed(peer, "hello"), "hello");
    EXPECT_GT(left, 0);
    over = true;
    while (left > 0) std::this_thread::yield();
}

TEST(ContextGroupTest, ItsEndEndsAFunctionThatWaitsForAnotherContextThatIsStopped) {
    EventLoopGroup group(withAsio(2));
    std::optional<ContextGroup> contexts(group);
    Context& other = contexts->context(1);
    other.stop();
    std::atomic<bool> waits{false};
    ErrorCode error;
    asio::post(FiberExecutor(contexts->context(0)), [&] {
        asio::steady_timer timer(other, std::chrono::hours(1));
        waits = true;
        timer.async_wait(use_fiber[error]);
    });
    while (!waits) std::this_thread::yield();
    contexts.reset();
    EXPECT_EQ(error, operationAborted());
}

// Counts the loop's polls. Belongs to one carrier.
class CountsPolls final : public IoHandlerDecorator {
  public:
    using IoHandlerDecorator::IoHandlerDecorator;
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        ++polls;
        return IoHandlerDecorator::poll(guard, deadline, budget);
    }
    static inline unsigned polls = 0;
};

// Each poll of an idle io_context is a system call.
TEST(ContextGroupTest, WhileFibersRunAnIdleContextIsPolledOncePerBudgetAndNotOncePerSwitch) {
    EventLoopGroupOptions options = withAsio(1);
    options.yieldBudget = std::chrono::seconds(1);
    options.ioHandler = [](std::unique_ptr<SocketIoHandler> builtIn) {
        return std::make_unique<CountsPolls>(AsioIoHandler::wrap(std::move(builtIn)));
    };
    EventLoopGroup group(options);
    ContextGroup contexts(group);
    constexpr unsigned switches = 50'000;
    const auto yields = [] {
        for (unsigned i = 0; i < switches / 2; ++i) thisFiber::yield();
    };
    unsigned polls = 0;
    group.carriers()
        .carrier(0)
        .spawn([&] {
            const unsigned before = CountsPolls::polls;
            auto other = Carrier::current()->spawn(yields);
            yields();
            other.join();
            polls = CountsPolls::polls - before;
        })
        .join();
    EXPECT_LT(polls, switches / 100);
}

TEST(ContextGroupTest, ItMayOutliveTheLoopsWithItsSocketsAndTimers) {
    const auto witness = std::make_shared<int>(0);
    auto group = std::make_unique<EventLoopGroup>(withAsio(2));
    auto contexts = std::make_unique<ContextGroup>(*group);
    {
        asio::steady_timer timer(contexts->context(0), std::chrono::hours(1));
        timer.async_wait([witness](auto) {});
        tcp::acceptor acceptor(contexts->context(1), {asio::ip::address_v4::loopback(), 0});
        acceptor.async_accept([witness](auto, tcp::socket) {});
        group.reset();
        asio::post(contexts->context(0), [witness] { FAIL() << "the loop has ended"; });
    }
    contexts.reset();
    EXPECT_EQ(witness.use_count(), 1);
}

}  // namespace
}  // namespace weft::asio_io
