// The order of completions in scenes of several completions: the reactor must not overtake what is queued, the events
// exceptions and stop() in the middle of ready handlers, and the results of each call that runs some.
#include "asio/connection.hpp"
#include "asio/order_kit.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using order::Connection;
using namespace std::chrono_literals;

constexpr auto longAgo = std::chrono::steady_clock::time_point(1s);

// ---- the reactor does not overtake ----

// A function starts something that completes at once; then a read that has waited becomes ready.
struct Answered {
    explicit Answered(asio::io_context& context) : io(context), connection(context), timer(context) {}
    void write() {
        asio::async_write(connection.socket, asio::buffer("x", 1), [this](error_code, std::size_t) { note("write"); });
        connection.sendByte();
    }
    void note(const char* what) { trace.emplace_back(what); }

    asio::io_context& io;
    Connection connection;
    asio::steady_timer timer;
    test::Trace trace;
};

asio::awaitable<void> writeInCoroutine(Answered& scene) {
    scene.timer.expires_at(longAgo);
    co_await scene.timer.async_wait(asio::use_awaitable);
    scene.write();
}

struct Overtaking {
    const char* name;
    void (*start)(Answered& scene);
};

const Overtaking overtakings[] = {
    {"InAPostedFunction", [](Answered& s) { asio::post(s.io, [&s] { s.write(); }); }},
    {"InAFunctionPostedByOne", [](Answered& s) { asio::post(s.io, [&s] { asio::post(s.io, [&s] { s.write(); }); }); }},
    {"InAFunctionOfAStrand", [](Answered& s) { asio::post(asio::make_strand(s.io), [&s] { s.write(); }); }},
    {"InATimersHandler",
     [](Answered& s) {
         s.timer.expires_at(longAgo);
         s.timer.async_wait([&s](error_code) { s.write(); });
     }},
    {"InACoroutine", [](Answered& s) { asio::co_spawn(s.io, writeInCoroutine(s), asio::detached); }},
    {"ACancelledTimerThenData",
     [](Answered& s) {
         s.timer.expires_after(1h);
         s.timer.async_wait([&s](error_code) { s.note("cancelled"); });
         asio::post(s.io, [&s] {
             s.timer.cancel();
             s.connection.sendByte();
         });
     }},
    {"AThreadsPostThenData",
     [](Answered& s) {
         asio::post(s.io, [&s] {
             std::thread([&s] { asio::post(s.io, [&s] { s.note("post"); }); }).join();
             s.connection.sendByte();
         });
     }},
    {"ChainOfPostsThenData",
     [](Answered& s) {
         asio::post(s.io, [&s] {
             for (const char* name : {"1", "2", "3"})
                 asio::post(s.io, [&s, name] { s.note(name), asio::post(s.io, [&s] { s.note("again"); }); });
             s.connection.sendByte();
         });
     }},
};

std::string nameOf(const ::testing::TestParamInfo<Overtaking>& scene) {
    return scene.param.name;
}

class TheReactor : public ::testing::TestWithParam<Overtaking> {};

TEST_P(TheReactor, DoesNotOvertakeWhatIsQueued) {
    constexpr int rounds = 100;
    test::LoopForContexts loop;
    const auto program = [start = GetParam().start](test::AnyContext& context) {
        Answered scene(context.io());
        for (int i = 0; i < rounds; ++i) {
            context.io().restart();
            scene.connection.read([&scene](error_code, std::size_t) { scene.note("read"); });
            start(scene);
            scene.trace.push_back(std::to_string(context.run()));
        }
        return std::move(scene.trace);
    };
    EXPECT_TRUE(test::ordersAlike(loop.get(), program));
    EXPECT_NE(test::onContext(loop.get(), program).front(), "read");
}

INSTANTIATE_TEST_SUITE_P(Scenes, TheReactor, ::testing::ValuesIn(overtakings), nameOf);

// ---- in the middle of ready handlers ----

enum class Disturbance { none, exceptions, exceptionsOfDispatched, stops, both };
enum class Call { run, runOne, poll, pollOne, alternating };

std::size_t made(Call call, test::AnyContext& context, std::size_t number) {
    switch (call) {
        case Call::run: return context.run();
        case Call::runOne: return context.runOne();
        case Call::poll: return context.poll();
        case Call::pollOne: return context.pollOne();
        case Call::alternating: break;
    }
    return made(static_cast<Call>(number % 4), context, number);
}

// Reads, timers and posted functions that are ready together; each third throws or stops the context.
class Batch {
  public:
    Batch(test::AnyContext& context, Disturbance disturbance)
        : context_(context), io_(context.io()), disturbance_(disturbance) {
        for (int i = 0; i < ofEach; ++i) start(std::to_string(i));
        test::awaitExpiry(io_);
    }

    // Calls until no work is left.
    test::Trace play(Call call) {
        for (std::size_t number = 0; !io_.stopped() || left_ > 0; ++number) {
            if (io_.stopped()) restart();
            trace_.push_back("[" + std::to_string(number));
            try {
                trace_.push_back(std::to_string(made(call, context_, number)));
            } catch (const std::runtime_error& error) {
                trace_.emplace_back(error.what());
            }
            trace_.emplace_back(io_.stopped() ? "stopped]" : "]");
        }
        return std::move(trace_);
    }

  private:
    static constexpr int ofEach = 7;

    void start(const std::string& i) {
        Connection& connection = *connections_.emplace_back(std::make_unique<Connection>(io_));
        connection.read(handler("r" + i));
        connection.sendByte();
        asio::post(io_, handler("p" + i));
        asio::steady_timer& timer = *timers_.emplace_back(std::make_unique<asio::steady_timer>(io_, longAgo));
        timer.async_wait(handler("t" + i));
    }
    std::function<void(error_code, std::size_t)> typed(const std::string& name) {
        ++left_;
        return [this, name](error_code, std::size_t) { handle(name); };
    }
    struct Handler {
        std::function<void(error_code, std::size_t)> call;
        void operator()(error_code error = {}, std::size_t size = 0) const { call(error, size); }
    };
    Handler handler(const std::string& name) { return {typed(name)}; }

    void handle(const std::string& name) {
        --left_;
        trace_.push_back(name);
        if (name.back() != '\'') asio::post(io_, handler(name + "'"));
        if (++handled_ % 3 == 0) disturb();
        if (handled_ % 5 == 0) asio::dispatch(io_, handler(name + "d'"));
    }
    void disturb() {
        const bool stops = disturbance_ == Disturbance::stops || disturbance_ == Disturbance::both;
        if (stops) io_.stop();
        if (disturbance_ == Disturbance::exceptionsOfDispatched)
            asio::dispatch(io_, [] { throw std::runtime_error("thrown in dispatch"); });
        if (disturbance_ == Disturbance::exceptions || disturbance_ == Disturbance::both)
            throw std::runtime_error("thrown");
    }
    void restart() {
        asio::post(io_, handler("while stopped'"));
        io_.restart();
        trace_.emplace_back("restart");
    }

    test::AnyContext& context_;
    asio::io_context& io_;
    const Disturbance disturbance_;
    std::vector<std::unique_ptr<Connection>> connections_;
    std::vector<std::unique_ptr<asio::steady_timer>> timers_;
    test::Trace trace_;
    int left_ = 0;
    int handled_ = 0;
};

class ABatchOfReadyHandlers : public ::testing::TestWithParam<Disturbance> {};

TEST_P(ABatchOfReadyHandlers, GoesOnInTheOrderOfAnIoContextAfterEachCall) {
    for (const unsigned budget : {1u, 2u, 3u, 256u}) {
        test::LoopForContexts loop(budget);
        for (const Call call : {Call::run, Call::runOne, Call::poll, Call::pollOne, Call::alternating}) {
            const auto program = [&](test::AnyContext& context) { return Batch(context, GetParam()).play(call); };
            EXPECT_TRUE(test::ordersAlike(loop.get(), program))
                << "call " << static_cast<int>(call) << ", budget " << budget;
        }
    }
}

std::string nameOfDisturbance(const ::testing::TestParamInfo<Disturbance>& info) {
    constexpr const char* names[] = {"Undisturbed", "ByExceptions", "ByExceptionsOfDispatchedFunctions", "ByStops",
                                     "ByStopsAndExceptions"};
    return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Disturbances, ABatchOfReadyHandlers,
                         ::testing::Values(Disturbance::none, Disturbance::exceptions,
                                           Disturbance::exceptionsOfDispatched, Disturbance::stops, Disturbance::both),
                         nameOfDisturbance);

TEST(CallsThatDoNotWait, ReturnWhenNothingIsReady) {
    constexpr std::size_t calls =
        200;  // the loop may sleep in its next turn, or not: each call finds it in another state
    for (const unsigned budget : {1u, 2u, 256u}) {
        test::LoopForContexts loop(budget);
        const auto program = [](test::AnyContext& context) {
            test::Trace trace;
            Connection connection(context.io());
            connection.read([&](error_code, std::size_t) { trace.emplace_back("read"); });
            for (std::size_t i = 0; i < calls; ++i) {
                for (std::size_t post = 0; post < i % 4; ++post)
                    asio::post(context.io(), [&] { trace.emplace_back("post"); });
                trace.push_back(std::to_string(context.poll()));
                trace.push_back(std::to_string(context.pollOne()));
            }
            connection.sendByte();
            trace.push_back(std::to_string(context.poll()));
            return trace;
        };
        EXPECT_TRUE(test::ordersAlike(loop.get(), program));
    }
}

TEST(ManyReadySockets, AreCalledInTheOrderOfAnIoContext) {
    constexpr int sockets = 160;  // the reactor takes 128 events at once
    test::LoopForContexts loop;
    const auto program = [](test::AnyContext& context) {
        asio::io_context& io = context.io();
        test::Trace trace;
        std::vector<std::unique_ptr<Connection>> connections;
        for (int i = 0; i < sockets; ++i) {
            connections.push_back(std::make_unique<Connection>(io));
            connections.back()->read([&, name = std::to_string(i)](error_code, std::size_t) {
                trace.push_back(name);
                asio::post(io, [&, name] { trace.push_back(name + "'"); });
            });
        }
        for (const auto& connection : connections) connection->sendByte();
        trace.push_back(std::to_string(context.run()));
        return trace;
    };
    EXPECT_TRUE(test::ordersAlike(loop.get(), program));
}

}  // namespace
}  // namespace weft::asio_io
