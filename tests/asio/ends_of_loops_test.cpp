// The table of ends (tests/framework/ends_of_loops_test.cpp) for what Asio's users keep: every executor, I/O object and
// waiting function, used after the end of its loop. The Contexts are destroyed before their loops, after them, and
// after their carriers. Each operation ends or is destroyed with its Context, and releases what it was given.
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/fiber_strand.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "framework/ends_of_loops.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using test::Carriers;
using test::End;
using test::testDeadline;
using test::Witness;
using namespace std::chrono_literals;

class AsioEndsOfLoops : public test::EndsOfLoops {
  protected:
    IoHandlerWrapper ioHandler() const override { return AsioIoHandler::wrap; }
    void SetUp() override {
        EndsOfLoops::SetUp();
        if (IsSkipped()) return;
        contexts_.emplace(*group_);
        context_ = &contexts_->context(0);
    }
    Context& context() { return *context_; }
    // Calls use() on each thread that may still have one of the Context's handles.
    void afterTheEnd(const std::function<void()>& use) {
        end();
        byEachCaller(0, use);
        CarrierGroup others(test::carrierOptions("others", 1));
        others.carrier(0).spawn(use).join();
    }
    void destroyContexts() {
        context_ = nullptr;
        contexts_.reset();
    }
    void runOnContext(std::function<void()> function) {
        Promise<void> done;
        const Future<void> ran = done.future();
        asio::post(context(), [&] {
            function();
            done.setValue();
        });
        ASSERT_TRUE(ran.awaitUntil(testDeadline()));
    }

    std::optional<ContextGroup> contexts_;
    Context* context_ = nullptr;
};

auto fails(std::shared_ptr<int> held) {
    return [held = std::move(held)](auto&&...) { ADD_FAILURE() << "called after the end of its loop"; };
}

template <class Executor>
void submitInEachWay(const Executor& executor, const Witness& witness) {
    asio::post(executor, fails(witness.one()));
    asio::defer(executor, fails(witness.one()));
    asio::dispatch(executor, fails(witness.one()));
    asio::post(asio::any_io_executor(executor), fails(witness.one()));
    asio::post(asio::strand<Executor>(executor), fails(witness.one()));
    asio::dispatch(asio::make_strand(asio::any_io_executor(executor)), fails(witness.one()));
}

TEST_P(AsioEndsOfLoops, FunctionsSubmittedToKeptExecutorsAreDestroyed) {
    const Witness witness;
    {
        const LoopExecutor loop = context().get_executor();
        const FiberExecutor fibers(context());
        const FiberStrand strand(context());
        const asio::io_context::executor_type plain = static_cast<asio::io_context&>(context()).get_executor();
        const auto strandOfLoop = asio::make_strand(loop);
        const auto strandOfFibers = asio::make_strand(fibers);
        const std::tuple guards(asio::make_work_guard(loop), asio::make_work_guard(fibers),
                                asio::make_work_guard(strand), asio::make_work_guard(plain));
        afterTheEnd([&] {
            submitInEachWay(loop, witness);
            submitInEachWay(fibers, witness);
            submitInEachWay(strand, witness);
            submitInEachWay(plain, witness);
            submitInEachWay(strandOfLoop, witness);
            submitInEachWay(strandOfFibers, witness);
            asio::co_spawn(
                loop, [held = witness.one()]() -> asio::awaitable<void> { co_return; }, asio::detached);
            EXPECT_FALSE(loop.running_in_this_thread());
            const FiberStrand late(context());
            asio::post(late, fails(witness.one()));
            auto lateGuard = asio::make_work_guard(context());
        });
    }
    destroyContexts();
    EXPECT_TRUE(witness.alone());
}

TEST_P(AsioEndsOfLoops, TheKeptContextRefusesRunAndTakesItsOtherCalls) {
    afterTheEnd([&] {
        for (std::size_t i = 0; i < contexts_->size(); ++i) {
            Context& kept = contexts_->context(i);
            EXPECT_THROW(kept.run(), std::logic_error) << "of a group";
            kept.stop();
            kept.restart();
            EXPECT_EQ(&asio::query(kept.get_executor(), asio::execution::context), &kept);
        }
        static_cast<void>(contexts_->next());
    });
}

// What an Asio program has open.
template <class Executor>
struct Opened {
    Opened(const Executor& executor, const SocketAddress& server, const Witness& witness)
        : socket(executor),
          acceptor(executor),
          timer(executor),
          signals(executor),
          resolver(executor),
          channel(executor, 1) {
        socket.connect({asio::ip::address_v4::loopback(), server.port()});
        acceptor.open(tcp::v4());
        acceptor.bind({asio::ip::address_v4::loopback(), 0});
        acceptor.listen();
        signals.add(SIGUSR2);
        start(witness);
    }
    void start(const Witness& witness) {
        const auto ends = [held = witness.one()](auto&& error, auto&&...) { EXPECT_TRUE(error); };
        socket.async_read_some(asio::buffer(bytes), ends);
        acceptor.async_accept(ends);
        timer.expires_after(1h);
        timer.async_wait(ends);
        signals.async_wait(ends);
        channel.async_receive(ends);
    }
    void use(const Witness& witness) {
        boost::system::error_code ignored;
        start(witness);
        timer.cancel();
        signals.cancel();
        channel.cancel();
        socket.cancel(ignored);
        acceptor.cancel(ignored);
        timer.expires_after(0ms);
        timer.async_wait(fails(witness.one()));
        channel.try_send(boost::system::error_code(), 1);
        socket.async_write_some(asio::buffer(bytes), fails(witness.one()));  // ready at once
        resolver.async_resolve("127.0.0.1", "80", fails(witness.one()));
        resolver.cancel();
        start(witness);
    }
    void close() {
        boost::system::error_code ignored;
        socket.shutdown(tcp::socket::shutdown_both, ignored);
        socket.close(ignored);
        acceptor.close(ignored);
        channel.close();
        signals.clear(ignored);
    }

    std::array<char, 4> bytes{};
    asio::basic_stream_socket<tcp, Executor> socket;
    asio::basic_socket_acceptor<tcp, Executor> acceptor;
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor> timer;
    asio::basic_signal_set<Executor> signals;
    asio::ip::basic_resolver<tcp, Executor> resolver;
    asio::experimental::basic_channel<Executor, asio::experimental::channel_traits<>,
                                      void(boost::system::error_code, int)>
        channel;
};

TEST_P(AsioEndsOfLoops, OperationsOfKeptObjectsAreDestroyed) {
    EventLoopGroup others(test::groupOptions(1));
    const Server peers = test::serveEcho(others);
    const SocketAddress server = peers.localAddress();
    const Witness witness;
    {
        std::optional<Opened<LoopExecutor>> ofLoop;
        std::optional<Opened<FiberExecutor>> ofFibers;
        std::optional<Opened<FiberStrand>> ofStrand;
        std::optional<Opened<asio::any_io_executor>> ofPlain, ofAsiosStrand;
        runOnContext([&] {
            asio::io_context& plain = context();
            ofLoop.emplace(context().get_executor(), server, witness);
            ofFibers.emplace(FiberExecutor(context()), server, witness);
            ofStrand.emplace(FiberStrand(context()), server, witness);
            ofPlain.emplace(plain.get_executor(), server, witness);
            ofAsiosStrand.emplace(asio::make_strand(context()), server, witness);
        });
        const auto all = [&](auto each) {
            each(*ofLoop);
            each(*ofFibers);
            each(*ofStrand);
            each(*ofPlain);
            each(*ofAsiosStrand);
        };
        afterTheEnd([&] { all([&](auto& opened) { opened.use(witness); }); });
        all([](auto& opened) { opened.close(); });
    }
    destroyContexts();
    EXPECT_TRUE(witness.alone());
}

TEST_P(AsioEndsOfLoops, AWaitForAnOperationOfAKeptObjectIsAborted) {
    asio::steady_timer timer(context(), 1h);
    tcp::acceptor acceptor(context(), {asio::ip::address_v4::loopback(), 0});
    tcp::socket socket(context());
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, FiberStrand>
        ofStrand(FiberStrand(context()), 1h);
    afterTheEnd([&] {
        ErrorCode error;
        timer.async_wait(use_fiber[error]);
        EXPECT_EQ(error, operationAborted());
        ofStrand.async_wait(use_fiber[error]);
        EXPECT_EQ(error, operationAborted());
        acceptor.async_accept(socket, use_fiber[error]);
        EXPECT_EQ(error, operationAborted());
        EXPECT_THROW(acceptor.async_accept(use_fiber[error]), SystemError) << "there is no empty socket to return";
        EXPECT_THROW(timer.async_wait(use_fiber.within(1h)), SystemError);
        EXPECT_THROW(asio::post(context().get_executor(), use_fiber), SystemError);
    });
}

TEST_P(AsioEndsOfLoops, WhatWaitsAtTheEndOfItsLoopEnds) {
    const Witness witness;
    std::atomic<int> begun{0}, ended{0};
    std::vector<asio::steady_timer> timers;
    for (int i = 0; i < 3; ++i) timers.emplace_back(context(), 1h);
    const auto waits = [&](auto wait) {
        return [&, wait, held = witness.one()] {
            ++begun;
            ErrorCode error;
            wait(error);
            EXPECT_EQ(error, operationAborted());
            ++ended;
        };
    };
    const auto sleeps = [](ErrorCode& error) { thisFiber::sleepFor(1h, error); };
    const FiberStrand strand(context());
    asio::post(FiberExecutor(context()), waits(sleeps));
    asio::post(strand, waits(sleeps));
    asio::post(strand, fails(witness.one()));
    asio::post(FiberExecutor(context()), waits([&](ErrorCode& error) { timers[0].async_wait(use_fiber[error]); }));
    asio::co_spawn(
        context(),
        [&, held = witness.one()]() -> asio::awaitable<void> {
            ++begun;
            co_await timers[2].async_wait(asio::use_awaitable);
        },
        asio::detached);
    std::thread thread(waits([&](ErrorCode& error) { timers[1].async_wait(use_fiber[error]); }));
    ASSERT_TRUE(test::eventually([&] { return begun == 5; }));
    end();
    thread.join();
    EXPECT_TRUE(test::eventually([&] { return ended == 4; }));
    timers.clear();
    destroyContexts();
    EXPECT_TRUE(witness.alone());
}

TEST_P(AsioEndsOfLoops, TheContextsMayBeDestroyedBeforeTheirLoopsAndAfterTheirCarriers) {
    const Witness witness;
    std::optional<asio::steady_timer> timer(std::in_place, context(), 1h);
    const auto submits = [&] {
        asio::post(context(), [held = witness.one()] {});
        asio::post(FiberExecutor(context()), [held = witness.one()] { thisFiber::sleepFor(1h); });
        asio::post(FiberStrand(context()), [held = witness.one()] { thisFiber::sleepFor(1h); });
        timer->async_wait([held = witness.one()](auto) {});
    };
    submits();
    timer.reset();
    destroyContexts();
    EXPECT_TRUE(witness.alone());

    contexts_.emplace(*group_);
    context_ = &contexts_->context(0);
    timer.emplace(context(), 1h);
    submits();
    end();
    group_.reset();
    carriers_.reset();
    submits();
    timer.reset();
    destroyContexts();
    EXPECT_TRUE(witness.alone());
}

// A Context that is run by its callers.
TEST_P(AsioEndsOfLoops, AContextWithoutAGroupEndsLikewise) {
    destroyContexts();
    const Witness witness;
    auto single = std::make_unique<Context>(group_->loop(0));
    asio::post(*single, [held = witness.one()] {});
    asio::post(FiberExecutor(*single), [held = witness.one()] {});
    asio::post(static_cast<asio::io_context&>(*single), [held = witness.one()] {});
    EXPECT_EQ(single->poll(), 3u);
    single->restart();
    asio::post(*single, fails(witness.one()));
    asio::post(FiberStrand(*single), fails(witness.one()));
    asio::post(static_cast<asio::io_context&>(*single), fails(witness.one()));
    afterTheEnd([&] {
        EXPECT_THROW(single->run(), SystemError);
        EXPECT_THROW(single->poll(), SystemError);
        EXPECT_THROW(single->run_one_for(1h), SystemError);
        single->stop();
        single->restart();
        asio::post(*single, fails(witness.one()));
        auto guard = asio::make_work_guard(*single);
    });
    single.reset();
    EXPECT_TRUE(witness.alone());
}

TEST_P(AsioEndsOfLoops, ACallOfRunThatIsUnderWayThrows) {
    destroyContexts();
    Context single(group_->loop(0));
    auto guard = asio::make_work_guard(single);
    std::atomic<int> thrown{0};
    const auto runs = [&] {
        try {
            single.run();
        } catch (const SystemError& error) {
            EXPECT_EQ(error.code(), operationAborted());
            ++thrown;
        }
    };
    CarrierGroup others(test::carrierOptions("others", 1));
    std::atomic<bool> running{false};
    asio::post(single, [&] { running = true; });
    std::thread thread(runs);
    auto fiber = others.carrier(0).spawn(runs);
    auto own = group_->carriers().carrier(1).spawn(runs);
    ASSERT_TRUE(test::eventually([&] { return running.load(); }));
    end();
    thread.join();
    fiber.join();
    own.join();
    EXPECT_EQ(thrown, 3);
}

TEST_P(AsioEndsOfLoops, WhatIsSubmittedMeanwhileRunsOrIsDestroyed) {
    const Witness witness;
    std::atomic<bool> over{false};
    std::atomic<int> ran{0};
    std::thread submits([&] {
        const FiberStrand strand(context());
        while (!over) {
            const auto counts = [&, held = witness.one()] { ++ran; };
            asio::post(context(), counts);
            asio::post(static_cast<asio::io_context&>(context()), counts);
            asio::post(FiberExecutor(context()), counts);
            asio::post(strand, counts);
            ErrorCode error;
            asio::steady_timer(context(), 0ms).async_wait(use_fiber[error]);
        }
    });
    ASSERT_TRUE(test::eventually([&] { return ran >= 4; }));
    end();
    over = true;
    submits.join();
    destroyContexts();
    EXPECT_TRUE(witness.alone());
}

INSTANTIATE_TEST_SUITE_P(Table, AsioEndsOfLoops, testing::ValuesIn(test::rows()), test::nameOf);

}  // namespace
}  // namespace weft::asio_io
