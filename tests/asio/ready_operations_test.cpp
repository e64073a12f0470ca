// Operations that become ready together, and operations that are ready when started: which handlers run, when, and in
// which call of run().
#include <weft/asio_io/context.hpp>
#include <weft/asio_io/use_fiber.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using namespace std::chrono_literals;

constexpr int count = 10;

// A socket of the context and its peer.
struct Pair {
    explicit Pair(asio::io_context& context) : socket(context), peer(context) {
        asio::local::connect_pair(socket, peer);
    }
    stream_protocol::socket socket, peer;
    char byte = 0;
};

// `count` pending reads, and one byte for each.
template <class TheContext>
class Reads {
  public:
    template <class Handler>
    Reads(TheContext& context, Handler handler) {
        for (int i = 0; i < count; ++i) pairs_.push_back(std::make_unique<Pair>(context));
        for (int i = 0; i < count; ++i) {
            Pair& pair = *pairs_[static_cast<std::size_t>(i)];
            pair.socket.async_read_some(asio::buffer(&pair.byte, 1),
                                        [handler, i](auto error, auto) { handler(i, error); });
        }
        for (const auto& pair : pairs_) asio::write(pair->peer, asio::buffer("x", 1));
    }
    Pair& operator[](int i) { return *pairs_[static_cast<std::size_t>(i)]; }

  private:
    std::vector<std::unique_ptr<Pair>> pairs_;
};

void postFromAnotherThread(asio::io_context& context, int& ran) {
    std::thread([&] { asio::post(context, [&ran] { ++ran; }); }).join();
}

TEST(ReadyOperations, RunCountsThemAsAnIoContextDoes) {
    asio::io_context plain;
    Context context;
    const auto nothing = [](int, auto) {};
    const Reads first(plain, nothing);
    const Reads second(context, nothing);
    EXPECT_EQ(plain.run(), std::size_t{count});
    EXPECT_EQ(context.run(), std::size_t{count});
}

TEST(ReadyOperations, AStopInAHandlerLeavesTheOthersToTheRunAfterRestart) {
    for (const bool throughIoContext : {false, true}) {
        Context context;
        int ran = 0;
        int posted = 0;
        const Reads reads(context, [&](int, auto) {
            if (++ran != 3) return;
            postFromAnotherThread(context, posted);
            throughIoContext ? static_cast<asio::io_context&>(context).stop() : context.stop();
        });
        EXPECT_EQ(context.run(), 3u);
        EXPECT_EQ(ran, 3);
        EXPECT_EQ(posted, 0);
        context.restart();
        EXPECT_EQ(context.run(), std::size_t{count - 3 + 1});
        EXPECT_EQ(ran, count);
        EXPECT_EQ(posted, 1);
    }
}

TEST(ReadyOperations, RunOneCallsOneOfThem) {
    Context context;
    int ran = 0;
    int posted = 0;
    const Reads reads(context, [&](int i, auto) {
        ++ran;
        if (i == 0) postFromAnotherThread(context, posted);
    });
    for (int i = 1; i <= count + 1; ++i) {
        EXPECT_EQ(context.run_one(), 1u);
        EXPECT_EQ(ran + posted, i);
    }
    EXPECT_EQ(context.run_one(), 0u);
}

TEST(ReadyOperations, RunThrowsTheExceptionOfOneAndTheOthersWaitForTheNextRun) {
    Context context;
    int ran = 0;
    int posted = 0;
    const Reads reads(context, [&](int, auto) {
        if (++ran != 3) return;
        postFromAnotherThread(context, posted);
        throw std::runtime_error("thrown");
    });
    EXPECT_THROW(context.run(), std::runtime_error);
    EXPECT_EQ(ran, 3);
    EXPECT_EQ(posted, 0);
    EXPECT_EQ(context.run(), std::size_t{count - 3 + 1});
}

// Returns the result of run(); `aborted` counts the aborted reads of the closed sockets.
template <class TheContext>
std::size_t closeTheOthers(TheContext& context, int& aborted) {
    std::vector<std::unique_ptr<Pair>> opened;
    Reads<TheContext>* all = nullptr;
    Reads reads(context, [&](int i, auto error) {
        if (error == asio::error::operation_aborted) ++aborted;
        if (error || i != 0) return;
        for (int other = 1; other < count; ++other) {
            (*all)[other].socket.close();
            opened.push_back(std::make_unique<Pair>(context));
            Pair& pair = *opened.back();
            pair.socket.async_read_some(asio::buffer(&pair.byte, 1), [](auto wrong, auto) { EXPECT_FALSE(wrong); });
            asio::write(pair.peer, asio::buffer("x", 1));
        }
    });
    all = &reads;
    return context.run();
}

TEST(ReadyOperations, AHandlerMayCloseTheSocketsOfTheOthersAndOpenNewOnes) {
    asio::io_context plain;
    Context context;
    int byPlain = 0;
    int aborted = 0;
    const std::size_t expected = closeTheOthers(plain, byPlain);
    EXPECT_EQ(closeTheOthers(context, aborted), expected);
    EXPECT_EQ(byPlain, count - 1);
    EXPECT_EQ(aborted, count - 1);
}

// Posts itself again while `missing` is not zero.
template <class Executor>
struct Again {
    void operator()() const {
        if (*missing > 0) asio::post(executor, *this);
    }
    Executor executor;
    const int* missing;
};

template <class Executor>
void postWithoutEnd(Context& context, const Executor& executor) {
    Pair pair(context);
    asio::steady_timer timer(context, 2ms);
    int missing = 3;
    timer.async_wait([&](auto) {
        --missing;
        asio::write(pair.peer, asio::buffer("x", 1));
    });
    pair.socket.async_read_some(asio::buffer(&pair.byte, 1), [&](auto, auto) { --missing; });
    asio::steady_timer fibers(context, 1ms);
    auto fiber = context.loop().carrier()->spawn([&] {
        fibers.async_wait(use_fiber);
        --missing;
    });
    for (int i = 0; i < 300; ++i) asio::post(executor, Again<Executor>{executor, &missing});
    context.run();
    fiber.join();
    EXPECT_EQ(missing, 0);
}

TEST(ReadyOperations, PostsWithoutEndKeepNeitherEventsNorTimersNorFibersWaiting) {
    Context first;
    postWithoutEnd(first, static_cast<asio::io_context&>(first).get_executor());
    Context second;
    postWithoutEnd(second, second.get_executor());
}

TEST(ReadyOperations, ThoseThatHaveNotRunAreDestroyedWithTheContext) {
    const auto held = std::make_shared<int>();
    {
        Context context;
        asio::io_context& plain = context;
        const Reads reads(context, [&context, &plain, held](int, auto) {
            asio::post(plain, [held] {});
            context.stop();
        });
        EXPECT_EQ(context.run(), 1u);
        EXPECT_GT(held.use_count(), 2);
    }
    EXPECT_EQ(held.use_count(), 1);
}

// ---- ready when started ----

// Runs `fn` in a fiber of the context's carrier while the context runs.
template <class F>
std::size_t runFiber(Context& context, F fn) {
    auto guard = asio::make_work_guard(context);
    auto fiber = context.loop().carrier()->spawn([&] {
        fn();
        guard.reset();
    });
    const std::size_t ran = context.run();
    fiber.join();
    return ran;
}

TEST(ReadyWhenStarted, AFiberWithSuchOperationsLetsTheOthersRun) {
    Context context;
    Pair pair(context);
    constexpr int reads = 500;
    asio::write(pair.peer, asio::buffer(std::string(reads, 'x')));
    int done = 0, seen = 0;  // reads, and how many of them the other fiber has seen
    runFiber(context, [&] {
        auto other = Carrier::current()->spawn([&] {
            for (int last = -1; done < reads; thisFiber::yield()) {
                if (std::exchange(last, done) != done) ++seen;
            }
        });
        for (; done < reads; ++done) pair.socket.async_read_some(asio::buffer(&pair.byte, 1), use_fiber);
        other.join();
    });
    EXPECT_GE(seen, reads / 10);  // about half of them when fibers run in a random order
}

TEST(ReadyWhenStarted, TheyCountAsHandlersAndAStepMayFollowAStep) {
    Context context;
    Pair pair(context);
    std::string bytes(1 << 20, 'x');  // more than a socket's buffer
    std::string read(bytes.size(), '\0');
    const std::size_t ran = runFiber(context, [&] {
        auto reader = Carrier::current()->spawn([&] { asio::async_read(pair.peer, asio::buffer(read), use_fiber); });
        EXPECT_EQ(asio::async_write(pair.socket, asio::buffer(bytes), use_fiber), bytes.size());
        reader.join();
    });
    EXPECT_EQ(read, bytes);
    EXPECT_GE(ran, 2u);
}

TEST(ReadyWhenStarted, AfterAStopTheyWaitForTheRunAfterRestart) {
    Context context;
    Pair pair(context);
    asio::write(pair.peer, asio::buffer("x", 1));
    bool read = false;
    auto guard = asio::make_work_guard(context);
    context.loop().carrier()->spawn([] {}).join();
    asio::post(context, [&] { context.stop(); });
    context.run();
    auto fiber = context.loop().carrier()->spawn([&] {
        pair.socket.async_read_some(asio::buffer(&pair.byte, 1), use_fiber);
        read = true;
    });
    context.loop()
        .carrier()
        ->spawn([&] {
            for (int i = 0; i < 10; ++i) thisFiber::yield();
            EXPECT_FALSE(read);
        })
        .join();
    context.restart();
    guard.reset();
    context.run();
    fiber.join();
    EXPECT_TRUE(read);
}

TEST(ReadyWhenStarted, TheirHandlersRunByTheExecutorsThatAreBoundToThem) {
    Context context;
    Pair pair(context);
    asio::write(pair.peer, asio::buffer("abc", 3));
    const auto ofTheContext = asio::make_strand(context.get_executor());
    const auto ofTheIoContext = asio::make_strand(static_cast<asio::io_context&>(context).get_executor());
    runFiber(context, [&] {
        for (const char expected : {'a', 'b'}) {
            pair.byte = 0;
            pair.socket.async_read_some(asio::buffer(&pair.byte, 1), asio::bind_executor(ofTheContext, use_fiber));
            EXPECT_EQ(pair.byte, expected);
        }
        pair.socket.async_read_some(asio::buffer(&pair.byte, 1), asio::bind_executor(ofTheIoContext, use_fiber));
        EXPECT_EQ(pair.byte, 'c');
    });
}

TEST(ReadyWhenStarted, RunThrowsTheExceptionOfAStepAndTheOperationCountsAsAborted) {
    Context context;
    Pair pair(context);
    asio::write(pair.peer, asio::buffer("x", 1));
    auto guard = asio::make_work_guard(context);
    auto fiber = context.loop().carrier()->spawn([&] {
        ErrorCode error;
        auto token = use_fiber[error];
        asio::async_compose<use_fiber_t, void(ErrorCode)>(
            [&pair, started = false](auto& self, ErrorCode = {}, std::size_t = 0) mutable {
                if (std::exchange(started, true)) throw std::runtime_error("thrown");
                pair.socket.async_read_some(asio::buffer(&pair.byte, 1), std::move(self));
            },
            token, pair.socket);
        EXPECT_EQ(error, operationAborted());
    });
    EXPECT_THROW(context.run(), std::runtime_error);
    fiber.join();
}

TEST(ReadyWhenStarted, RunThrowsTheExceptionOfAFunctionDispatchedMeanwhile) {
    Context context;
    asio::io_context& plain = context;
    const auto start = [&] {
        auto token = use_fiber;
        asio::async_compose<use_fiber_t, void(ErrorCode)>(
            [&plain, started = false](auto& self) mutable {
                if (std::exchange(started, true)) return self.complete(ErrorCode());
                asio::dispatch(plain, [] { throw std::runtime_error("thrown"); });
                asio::post(plain, std::move(self));
            },
            token, plain);
    };
    JoinHandle<void> fiber;
    auto guard = asio::make_work_guard(context);
    asio::post(context, [&] { fiber = Carrier::current()->spawn(start); });  // then a thread is in run()
    EXPECT_THROW(context.run(), std::runtime_error);
    guard.reset();
    context.run();
    fiber.join();
}

}  // namespace
}  // namespace weft::asio_io
