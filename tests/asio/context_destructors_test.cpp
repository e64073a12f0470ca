// What destructors of handlers do at the end of their Context: submit functions, start operations, spawn fibers, wait,
// destroy other Contexts. And ends with very many waiting functions.
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/defer.hpp>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/framework/event_loop_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "asio/waiting_code.hpp"
#include "framework/ends_of_loops.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using test::IoObjects;
using weft::test::Witness;
using namespace std::chrono_literals;

// Calls `act` when it is destroyed without having been called or moved from.
template <class Act>
class ActsWhenDestroyed {
  public:
    explicit ActsWhenDestroyed(Act act) : act_(std::move(act)) {}
    ActsWhenDestroyed(ActsWhenDestroyed&& other) noexcept : act_(std::exchange(other.act_, std::nullopt)) {}
    ActsWhenDestroyed& operator=(ActsWhenDestroyed&&) = delete;
    ~ActsWhenDestroyed() {
        if (act_) (*act_)();
    }
    template <class... Args>
    void operator()(Args&&...) {
        ADD_FAILURE() << "called";
    }

  private:
    std::optional<Act> act_;
};

auto fails(std::shared_ptr<int> held) {
    return [held = std::move(held)](auto&&...) { ADD_FAILURE() << "called"; };
}

// Lets `act` run in the destructors of handlers that wait in the queue, in the reactor, in executors and in a strand,
// and once more in that of a function that begins to wait.
template <class Act>
void endWith(Context& context, asio::steady_timer& timer, Act act) {
    timer.async_wait(ActsWhenDestroyed(act));
    timer.async_wait(asio::bind_executor(FiberExecutor(context), ActsWhenDestroyed(act)));
    context.poll();
    context.restart();
    asio::post(context, ActsWhenDestroyed(act));
    asio::post(FiberExecutor(context), ActsWhenDestroyed(act));
    const FiberStrand strand(context);
    asio::post(strand, ActsWhenDestroyed(act));
    asio::post(strand, ActsWhenDestroyed(act));
}

template <class Act>
void endWith(Act act) {
    int acted = 0;
    const Witness witness;
    {
        Context context;
        asio::steady_timer timer(context, 1h);
        asio::post(FiberExecutor(context),
                   [&, held = witness.one()] { asio::steady_timer(context, 1h).async_wait(use_fiber); });
        endWith(context, timer, [&acted, &context, &witness, act] {
            ++acted;
            act(context, witness);
        });
    }
    EXPECT_EQ(acted, 6);
    EXPECT_TRUE(witness.alone());
}

TEST(AsioContextDestructors, SubmitToTheirContext) {
    endWith([](Context& context, const Witness& witness) {
        asio::post(context, fails(witness.one()));
        asio::dispatch(context, fails(witness.one()));
        asio::defer(FiberExecutor(context), fails(witness.one()));
        const FiberStrand strand(context);
        asio::post(strand, fails(witness.one()));
        asio::post(strand, fails(witness.one()));
        asio::co_spawn(
            context, [held = witness.one()]() -> asio::awaitable<void> { co_return; }, asio::detached);
    });
}

TEST(AsioContextDestructors, SubmitToAnotherContextThatRuns) {
    Context other;
    std::optional work(asio::make_work_guard(other));
    std::thread runner([&] { other.run(); });
    std::atomic<int> ran{0};
    endWith([&](Context&, const Witness&) {
        asio::post(other, [&ran] { ++ran; });
        asio::post(FiberExecutor(other), [&ran] { ++ran; });
    });
    work.reset();
    runner.join();
    EXPECT_EQ(ran, 12);
}

TEST(AsioContextDestructors, StartOperationsOfTheirOwnObjects) {
    endWith([](Context& context, const Witness& witness) {
        auto io = std::make_shared<IoObjects>(context);
        io->timer.async_wait([io, held = witness.one()](auto) {});
        io->acceptor.async_accept(io->accepted, [io, held = witness.one()](auto) {});
        io->local.async_read_some(asio::buffer(io->bytes), [io, held = witness.one()](auto, auto) {});
        io->signals.async_wait([io, held = witness.one()](auto, auto) {});
        io->channel.async_receive([io, held = witness.one()](auto, auto) {});
    });
}

TEST(AsioContextDestructors, StartOperationsThatCompleteInFibers) {
    endWith([](Context& context, const Witness& witness) {
        auto io = std::make_shared<IoObjects>(context);
        const FiberExecutor fibers(context);
        const FiberStrand strand(context);
        io->timer.async_wait(asio::bind_executor(fibers, [io, held = witness.one()](auto) {}));
        io->local.async_read_some(asio::buffer(io->bytes),
                                  asio::bind_executor(strand, [io, held = witness.one()](auto, auto) {}));
        io->acceptor.async_accept(io->accepted, asio::bind_executor(fibers, [io, held = witness.one()](auto) {}));
    });
}

TEST(AsioContextDestructors, WaitForOperations) {
    endWith([](Context& context, const Witness&) {
        ErrorCode error;
        asio::steady_timer(context, 1h).async_wait(use_fiber[error]);
        EXPECT_EQ(error, operationAborted());
        EXPECT_EQ(test::awaitOperation(test::Kind::initiation, *std::make_unique<IoObjects>(context)),
                  operationAborted());
    });
}

TEST(AsioContextDestructors, SpawnAndJoinFibersOfTheCarrier) {
    std::atomic<int> ran{0};
    endWith([&ran](Context& context, const Witness& witness) {
        context.loop()
            .carrier()
            ->spawn([&ran, held = witness.one()] {
                thisFiber::yield();
                ++ran;
            })
            .join();
    });
    EXPECT_EQ(ran, 6);
}

TEST(AsioContextDestructors, DestroyAnotherContext) {
    endWith([](Context&, const Witness& witness) {
        Context other;
        asio::post(FiberExecutor(other),
                   [&other, held = witness.one()] { asio::steady_timer(other, 1h).async_wait(use_fiber); });
        other.poll();
    });
}

// A destroyed handler starts the next operation. Asio destroys the handlers of two; each holds work of the Context.
struct Chain {
    Chain(Context& its, int remaining) : context(&its), left(remaining) {}
    Chain(Chain&& other) noexcept : context(std::exchange(other.context, nullptr)), left(other.left) {}
    Chain& operator=(Chain&&) = delete;
    ~Chain() {
        if (context == nullptr || left == 0) return;
        auto signals = std::make_unique<asio::signal_set>(*context, SIGUSR2);
        asio::signal_set& waiting = *signals;
        waiting.async_wait(asio::bind_executor(
            FiberExecutor(*context), [signals = std::move(signals), next = Chain(*context, left - 1)](auto, auto) {}));
    }
    void operator()() { ADD_FAILURE() << "called"; }
    Context* context;
    int left;
};

TEST(AsioContextDestructors, MayHoldWorkOfTheContextUntilItsVeryEnd) {
    Context context;
    asio::post(context, Chain(context, 2));
}

TEST(AsioContextDestructors, OfAnotherContextMayRunInAFunction) {
    Context outer;
    const Witness witness;
    asio::post(FiberExecutor(outer), [&] {
        Context inner;
        asio::post(FiberExecutor(inner),
                   [&, held = witness.one()] { asio::steady_timer(inner, 1h).async_wait(use_fiber); });
        inner.poll();
    });
    outer.run();
    EXPECT_TRUE(witness.alone());
}

TEST(AsioContextDestructors, AThousandWaitingFunctionsEnd) {
    const Witness witness;
    std::atomic<int> begun{0};
    {
        Context context;
        const FiberStrand strand(context);
        for (int i = 0; i < 1000; ++i) {
            asio::post(FiberExecutor(context), [&, held = witness.one()] {
                asio::steady_timer timer(context, 1h);
                ++begun;
                for (int attempt = 0; attempt < 3; ++attempt) {
                    try {
                        timer.async_wait(use_fiber);
                    } catch (const SystemError&) {
                    }
                }
                Promise<void> promise;
                const Future<void> future = promise.future();
                timer.async_wait([kept = std::make_shared<Promise<void>>(std::move(promise))](auto) {});
                const CancellationShield shield;
                future.await();
            });
            asio::post(strand, [&, held = witness.one()] { asio::steady_timer(context, 1h).async_wait(use_fiber); });
        }
        while (begun < 1000) context.run_for(1ms);
    }
    EXPECT_TRUE(witness.alone());
}

}  // namespace
}  // namespace weft::asio_io
