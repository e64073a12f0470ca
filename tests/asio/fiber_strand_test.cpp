// FiberStrand: mutual exclusion that holds while a function waits.
#include <weft/asio_io/fiber_strand.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <weft/asio_io/fiber_executor.hpp>
#include <weft/asio_io/use_fiber.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
namespace execution = boost::asio::execution;
using namespace std::chrono_literals;

static_assert(execution::is_executor<FiberStrand>::value);
static_assert(asio::can_require<FiberStrand, execution::blocking_t::never_t>::value);
static_assert(std::is_convertible_v<FiberStrand, asio::any_io_executor>);
static_assert(std::is_convertible_v<FiberStrand, asio::any_completion_executor>);
static_assert(std::is_same_v<decltype(asio::query(std::declval<FiberStrand>(), execution::context)), Context&>);
static_assert(sizeof(FiberStrand) <= sizeof(std::shared_ptr<int>) + sizeof(void*),
              "any_io_executor allocates for more");

TEST(FiberStrandTest, AFunctionThatWaitsKeepsTheStrand) {
    Context context;
    const FiberStrand strand(context);
    std::vector<int> order;
    for (int i = 0; i < 5; ++i) {
        asio::post(strand, [&order, i] {
            order.push_back(i);
            thisFiber::sleepFor(1ms);
            order.push_back(i);
        });
    }
    EXPECT_EQ(context.run(), 5u);
    EXPECT_EQ(order, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(FiberStrandTest, FunctionsOfManyThreadsRunOneAtATimeAndInEachThreadsOrder) {
    constexpr int threads = 4, each = 500;
    Context context;
    const FiberStrand strand(context);
    int inside = 0, ran = 0;
    std::vector<int> last(threads, -1);
    std::vector<std::thread> posters;
    for (int thread = 0; thread < threads; ++thread) {
        posters.emplace_back([&, thread, strand = asio::require(strand, execution::outstanding_work.tracked)] {
            for (int i = 0; i < each; ++i) {
                asio::post(strand, [&, thread, i] {
                    EXPECT_EQ(++inside, 1);
                    EXPECT_EQ(std::exchange(last[static_cast<std::size_t>(thread)], i), i - 1);
                    if (i % 50 == 0) thisFiber::yield();
                    --inside;
                    ++ran;
                });
            }
        });
    }
    for (std::thread& poster : posters) poster.join();
    context.run();
    EXPECT_EQ(ran, threads * each);
}

TEST(FiberStrandTest, OtherFibersRunWhileAFunctionOfTheStrandWaits) {
    Context context;
    const FiberStrand strand(context);
    Promise<int> answer;
    const Future<int> later = answer.future();
    int got = 0;
    asio::post(strand, [&] { got = later.get(); });
    asio::post(FiberExecutor(context), [&] { answer.setValue(7); });
    context.run();
    EXPECT_EQ(got, 7);
}

TEST(FiberStrandTest, InsideIsTheFiberOfTheFunctionAndNoOther) {
    Context context;
    const FiberStrand strand(context);
    const FiberStrand other(context);
    EXPECT_FALSE(strand.running_in_this_thread());
    bool entered = false;
    asio::post(strand, [&] {
        EXPECT_TRUE(strand.running_in_this_thread());
        EXPECT_FALSE(other.running_in_this_thread());
        auto child = Carrier::current()->spawn([&] { return strand.running_in_this_thread(); });
        EXPECT_FALSE(child.join());
        EXPECT_TRUE(strand.running_in_this_thread());
        bool inlined = false;
        asio::dispatch(strand, [&] { inlined = true; });
        EXPECT_TRUE(inlined);
        bool posted = false;
        asio::post(strand, [&] { posted = true; });
        EXPECT_FALSE(posted);
        entered = true;
    });
    EXPECT_EQ(context.run(), 2u);
    EXPECT_TRUE(entered);
    EXPECT_FALSE(strand.running_in_this_thread());
}

TEST(FiberStrandTest, CopiesAreTheSameStrandAndPropertiesAreKept) {
    Context context;
    const FiberStrand strand(context);
    const FiberStrand copy = strand;
    EXPECT_EQ(copy, strand);
    EXPECT_NE(FiberStrand(context), strand);
    const FiberStrand never = asio::require(strand, execution::blocking.never);
    EXPECT_NE(never, strand);
    EXPECT_EQ(asio::require(never, execution::blocking.possibly), strand);
    EXPECT_EQ(&asio::query(strand, execution::context), &context);
    bool inlined = false;
    asio::post(strand, [&] {
        never.execute([&] { inlined = true; });
        EXPECT_FALSE(inlined);
    });
    context.run();
    EXPECT_TRUE(inlined);
    EXPECT_EQ(asio::require(strand, execution::outstanding_work.tracked), strand);
}

TEST(FiberStrandTest, AnExceptionIsThrownByRunAndTheNextFunctionRuns) {
    Context context;
    const FiberStrand strand(context);
    bool ran = false;
    asio::post(strand, [] { throw std::runtime_error("first"); });
    asio::post(strand, [&] { ran = true; });
    EXPECT_THROW(context.run(), std::runtime_error);
    context.run();
    EXPECT_TRUE(ran);
}

// The I/O object's own executor is the strand, which the waiting function holds.
template <class Timer>
void waitInside(const FiberStrand& strand, Context& context) {
    Timer timer(strand, 1ms);
    Timer never(strand, 1h);
    int waits = 0;
    asio::post(strand, [&] {
        timer.async_wait(use_fiber);
        ++waits;
        ErrorCode error;
        never.async_wait(use_fiber[error].within(1ms));
        EXPECT_EQ(error, timedOut());
        ++waits;
    });
    timer.async_wait([&](boost::system::error_code) {  // completes on the strand
        EXPECT_TRUE(strand.running_in_this_thread());
        thisFiber::sleepFor(1ms);
        ++waits;
    });
    context.run();
    EXPECT_EQ(waits, 3);
}

TEST(FiberStrandTest, AFunctionMayWaitForAnOperationOfAnObjectOfTheStrand) {
    using Timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                                             FiberStrand>;
    Context context;
    waitInside<Timer>(FiberStrand(context), context);
}

TEST(FiberStrandTest, AFunctionMayWaitForAnOperationOfAnObjectWhoseExecutorIsErased) {
    Context context;
    waitInside<asio::steady_timer>(FiberStrand(context), context);
}

TEST(FiberStrandTest, AFunctionMayWaitForAnOperationWithTheTokenAsDefault) {
    Context context;
    const FiberStrand strand(context);
    auto timer = use_fiber_t::as_default_on(asio::steady_timer(strand, 1ms));
    bool waited = false;
    asio::post(strand, [&] {
        timer.async_wait();
        waited = true;
    });
    context.run();
    EXPECT_TRUE(waited);
}

TEST(FiberStrandTest, AFunctionMayWaitForAnOperationWhoseExecutorIsErasedWithTheTokenAsDefault) {
    Context context;
    const FiberStrand strand(context);
    auto withToken = use_fiber_t::as_default_on(asio::steady_timer(strand, 1ms));
    asio::steady_timer timer(asio::any_io_executor(withToken.get_executor()), 1ms);
    bool waited = false;
    asio::post(strand, [&] {
        timer.async_wait(use_fiber);
        waited = true;
    });
    context.run();
    EXPECT_TRUE(waited);
}

TEST(FiberStrandTest, FunctionsThatNeverRanAreDestroyedWithTheContextAndMayHoldTheStrand) {
    const auto life = std::make_shared<int>(0);
    {
        Context context;
        const FiberStrand strand(context);
        for (int i = 0; i < 3; ++i) asio::post(strand, [strand, life] {});
        EXPECT_EQ(life.use_count(), 4);
    }
    EXPECT_EQ(life.use_count(), 1);
}

TEST(FiberStrandTest, AContextThatEndsCancelsTheFunctionAndDestroysThoseThatWait) {
    const auto life = std::make_shared<int>(0);
    bool cancelled = false, ran = false;
    {
        Context context;
        const FiberStrand strand(context);
        asio::post(strand, [&, life] {
            context.stop();
            ErrorCode error;
            thisFiber::sleepFor(1h, error);
            cancelled = error == operationAborted();
        });
        asio::post(strand, [&, life, strand] { ran = true; });
        context.run();
    }
    EXPECT_TRUE(cancelled);
    EXPECT_FALSE(ran);
    EXPECT_EQ(life.use_count(), 1);
}

// Its destructor submits another function.
struct Submits {
    explicit Submits(const FiberStrand& its) : strand(std::make_unique<FiberStrand>(its)) {}
    Submits(Submits&&) = default;
    Submits& operator=(Submits&&) = delete;
    ~Submits() {
        if (strand != nullptr) asio::post(*strand, [] {});
    }
    void operator()() { strand.reset(); }
    std::unique_ptr<FiberStrand> strand;
};

TEST(FiberStrandTest, ADestructorMaySubmitWhenTheContextEnds) {
    Context context;
    asio::post(FiberStrand(context), Submits(FiberStrand(context)));
}

}  // namespace
}  // namespace weft::asio_io
