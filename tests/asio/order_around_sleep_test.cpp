// The order of completions around a sleep of the thread that runs the context.
#include "asio/connection.hpp"
#include "asio/order_kit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
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

// The thread that runs the context, seen by others.
class Sleeper {
  public:
    void isThisThread() { id_ = ::syscall(SYS_gettid); }
    // Returns once the thread waits for something.
    void awaitSleep() const {
        while (id_ == 0 || stateOf(id_) != 'S') std::this_thread::yield();
    }

  private:
    static char stateOf(long id) {
        std::ifstream stat("/proc/self/task/" + std::to_string(id) + "/stat");
        std::string text;
        std::getline(stat, text);
        const std::size_t end = text.rfind(')');
        return end == std::string::npos ? '?' : text.at(end + 2);
    }

    std::atomic<long> id_{0};
};

// Two reads wait. While the context sleeps, another thread posts 1, then makes read A ready, posts 2, and makes B
// ready.
class RoundsOfSleep {
  public:
    explicit RoundsOfSleep(test::AnyContext& context)
        : context_(context), io_(context.io()), work_(io_.get_executor()), a_(io_), b_(io_) {}

    std::vector<std::string> play() {
        asio::post(io_, [this] { sleeper_.isThisThread(); });
        std::thread events([this] {
            for (int i = 0; i < rounds; ++i) playOne(i);
            work_.reset();
        });
        context_.run();
        events.join();
        return std::move(orders_);
    }

  private:
    static constexpr int rounds = 200;

    void playOne(int i) {
        const auto note = [this](char name) {
            return [this, name](const auto&...) { orders_.back() += name, ++done_; };
        };
        asio::post(io_, [this, note] {
            orders_.emplace_back();
            a_.read(note('A'));
            b_.read(note('B'));
            ++begun_;
        });
        while (begun_ != i + 1) std::this_thread::yield();
        sleeper_.awaitSleep();
        asio::post(io_, note('1'));
        a_.sendByte();
        asio::post(io_, note('2'));
        b_.sendByte();
        while (done_ != 4 * (i + 1)) std::this_thread::yield();
    }

    test::AnyContext& context_;
    asio::io_context& io_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    Connection a_, b_;
    Sleeper sleeper_;
    std::vector<std::string> orders_;
    std::atomic<int> begun_{0}, done_{0};
};

// An io_context leaves open whether A or 2 is first.
bool isPossible(const std::string& order) {
    return order == "1A2B" || order == "12AB";
}

TEST(OrderAroundASleep, IsThatOfTheCausesWhateverTheirKind) {
    test::LoopForContexts loop;
    const auto orders = [](test::AnyContext& context) { return RoundsOfSleep(context).play(); };
    for (const auto& order : test::onIoContext(orders)) EXPECT_TRUE(isPossible(order)) << "io_context: " << order;
    for (const auto& order : test::onContext(loop.get(), orders)) EXPECT_TRUE(isPossible(order)) << order;
}

TEST(OrderAroundASleep, AStopThatEndsTheSleepLeavesLaterPostsToTheNextRun) {
    constexpr int rounds = 100;
    test::LoopForContexts loop;
    const auto program = [](test::AnyContext& context) {
        asio::io_context& io = context.io();
        const auto work = asio::make_work_guard(io);
        test::Trace trace;
        Connection connection(io);
        for (int i = 0; i < rounds; ++i) {
            Sleeper sleeper;
            connection.read([&](error_code, std::size_t) { trace.emplace_back("read"), io.stop(); });
            asio::post(io, [&] { sleeper.isThisThread(); });
            std::thread stopper([&] {
                sleeper.awaitSleep();
                io.stop();
                asio::post(io, [&] { trace.emplace_back("post"); });
                connection.sendByte();
            });
            trace.push_back(std::to_string(context.run()));
            stopper.join();
            io.restart();
            trace.push_back(std::to_string(context.run()));
            io.restart();
        }
        return trace;
    };
    EXPECT_TRUE(test::ordersAlike(loop.get(), program));
}

}  // namespace
}  // namespace weft::asio_io
