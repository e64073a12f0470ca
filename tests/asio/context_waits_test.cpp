// The ends of a Context while code waits in operations: each kind of operation (waiting_code.hpp), by each kind of
// code, and each way to end. The end returns, and all that the waiting code owns is destroyed.
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <weft/asio_io/asio_io_handler.hpp>
#include <weft/asio_io/context_group.hpp>
#include <weft/framework/event_loop_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "asio/waiting_code.hpp"
#include "framework/ends_of_loops.hpp"

namespace weft::asio_io {
namespace {

namespace asio = boost::asio;
using test::Kind;
using test::Who;
using weft::test::Witness;
using namespace std::chrono_literals;

// How a Context with a carrier of its own ends.
enum class Way : unsigned char { notRunning, onOtherCarrier, stopped, stoppedTwice, running, busy };

std::string nameOf(Way way) {
    const char* const names[] = {"NotRunning", "OnOtherCarrier", "Stopped", "StoppedTwice", "Running", "Busy"};
    return names[static_cast<std::size_t>(way)];
}

template <class How>
class Waits : public testing::TestWithParam<std::tuple<Who, Kind, How>> {
  public:
    static std::string name(const testing::TestParamInfo<std::tuple<Who, Kind, How>>& row) {
        return test::nameOf(std::get<0>(row.param)) + test::nameOf(std::get<1>(row.param)) +
               nameOf(std::get<2>(row.param));
    }

  protected:
    static constexpr int several = 3;  // that wait at once

    How how() const { return std::get<2>(this->GetParam()); }
    void startWaiting(Context& context) {
        for (int i = 0; i < several; ++i) {
            test::startWaiting(context, std::get<0>(this->GetParam()), std::get<1>(this->GetParam()), witness_.one(),
                               [this] { ++begun_; });
        }
    }
    bool allWait() const { return begun_ == several; }
    // Fibers that keep a carrier busy until over_ is true.
    void makeBusy(Carrier& carrier) {
        for (int i = 0; i < 2; ++i) {
            carrier.spawnDetached([this] {
                while (!over_) thisFiber::yield();
            });
        }
    }

    const Witness witness_;
    std::atomic<bool> over_{false};
    std::atomic<int> begun_{0};
};

// run() throws if the Context is destroyed meanwhile.
void runUntilItEnds(Context& context) {
    try {
        context.run();
    } catch (const SystemError& error) {
        EXPECT_EQ(error.code(), operationAborted());
    }
}

class AsioContextWaits : public Waits<Way> {
  protected:
    void SetUp() override { context_.emplace(); }
    void runUntilAllWait() {
        while (!allWait()) context_->run_for(1ms);
    }
    void stopFrom(int times) {
        std::thread runner([&] { runUntilItEnds(*context_); });
        ASSERT_TRUE(weft::test::eventually([&] { return allWait(); }));
        for (int i = 0; i < times; ++i) context_->stop();
        runner.join();
    }
    void destroyWhileItRuns() {
        std::thread runner([&context = *context_] { runUntilItEnds(context); });
        ASSERT_TRUE(weft::test::eventually([&] { return allWait(); }));
        context_.reset();
        runner.join();
    }
    void destroyOnOtherCarrier() {
        CarrierGroup others(weft::test::carrierOptions("others", 1));
        others.carrier(0).spawn([&] { context_.reset(); }).join();
    }
    void destroyWhileBusy() {
        makeBusy(*context_->loop().carrier());
        std::thread endsThem([&] {
            std::this_thread::sleep_for(20ms);  // most of the end comes before this
            over_ = true;
        });
        context_.reset();
        endsThem.join();
    }

    std::optional<Context> context_;
};

TEST_P(AsioContextWaits, EndWithTheirContext) {
    startWaiting(*context_);
    switch (how()) {
        case Way::stopped: stopFrom(1); break;
        case Way::stoppedTwice: stopFrom(2); break;
        case Way::running: destroyWhileItRuns(); break;
        default: runUntilAllWait();
    }
    if (how() == Way::busy) destroyWhileBusy();
    if (how() == Way::onOtherCarrier) destroyOnOtherCarrier();
    context_.reset();
    EXPECT_TRUE(witness_.alone());
}

constexpr auto kinds = {Kind::timer,  Kind::accept,  Kind::read,       Kind::write,   Kind::connect, Kind::resolve,
                        Kind::signal, Kind::channel, Kind::initiation, Kind::promise, Kind::retries};
constexpr auto everyone = {Who::function, Who::strand, Who::fiber, Who::coroutine, Who::callback};

INSTANTIATE_TEST_SUITE_P(Table, AsioContextWaits,
                         testing::Combine(testing::ValuesIn(everyone), testing::ValuesIn(kinds),
                                          testing::Values(Way::notRunning, Way::onOtherCarrier, Way::stopped,
                                                          Way::stoppedTwice, Way::running, Way::busy)),
                         AsioContextWaits::name);

// What ends first, and how, where a ContextGroup shares its carriers with others.
enum class First : unsigned char { contexts, busyContexts, shutdown, graceful, loops, carriers, together, togetherOwn };

std::string nameOf(First first) {
    const char* const names[] = {"Contexts", "BusyContexts", "Shutdown", "Graceful",
                                 "Loops",    "Carriers",     "Together", "TogetherOwn"};
    return names[static_cast<std::size_t>(first)];
}

class AsioContextGroupWaits : public Waits<First> {
  protected:
    void SetUp() override {
        carriers_.emplace(weft::test::carrierOptions("test", 2));
        EventLoopGroupOptions options = weft::test::groupOptions(2);
        options.ioHandler = AsioIoHandler::wrap;
        group_ = how() == First::togetherOwn
                     ? std::make_unique<EventLoopGroup>(options)
                     : std::make_unique<EventLoopGroup>(*carriers_, options.transport, EventLoop::Options(),
                                                        options.ioHandler);
        contexts_.emplace(*group_);
    }
    void end() {
        switch (how()) {
            case First::contexts: break;
            case First::busyContexts: makeBusy(carriers_->carrier(0)); break;
            case First::shutdown: ASSERT_TRUE(group_->shutdown(20s)); break;
            case First::graceful: group_->shutdownGracefully(0ms, 1h).await(); break;
            case First::loops: group_.reset(); break;
            case First::carriers:
                group_.reset();
                carriers_.reset();
                break;
            case First::together:
            case First::togetherOwn: shutsDown_ = std::thread([this] { group_->shutdown(20s); }); break;
        }
    }

    std::thread shutsDown_;
    std::optional<CarrierGroup> carriers_;
    std::unique_ptr<EventLoopGroup> group_;
    std::optional<ContextGroup> contexts_;
};

// A program joins its own fibers before it destroys the contexts whose objects they use. The end of the loops ends
// their waits.
TEST_P(AsioContextGroupWaits, EndWithTheirContextOrTheirLoop) {
    const bool contextsFirst = how() == First::contexts || how() == First::busyContexts;
    startWaiting(contexts_->context(0));
    startWaiting(contexts_->context(1));
    ASSERT_TRUE(weft::test::eventually([&] { return begun_ == 2 * several; }));
    end();
    if (std::get<Who>(GetParam()) == Who::fiber && !contextsFirst) {
        ASSERT_TRUE(weft::test::eventually([&] { return witness_.alone(); }));
    }
    contexts_.reset();
    over_ = true;
    if (shutsDown_.joinable()) shutsDown_.join();
    EXPECT_TRUE(weft::test::eventually([&] { return witness_.alone(); }));
}

// Without plain fibers that neither the end of their loop nor that of their Context ends.
std::vector<AsioContextGroupWaits::ParamType> rows() {
    std::vector<AsioContextGroupWaits::ParamType> rows;
    for (const Who who : everyone) {
        for (const Kind kind : kinds) {
            for (const First first : {First::contexts, First::busyContexts, First::shutdown, First::graceful,
                                      First::loops, First::carriers, First::together, First::togetherOwn}) {
                const bool contextsFirst = first == First::contexts || first == First::busyContexts;
                const bool outlivesItsContext = who == Who::fiber && first != First::carriers &&
                                                (kind == Kind::retries || (kind == Kind::promise && !contextsFirst));
                if (!outlivesItsContext) rows.emplace_back(who, kind, first);
            }
        }
    }
    return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, AsioContextGroupWaits, testing::ValuesIn(rows()), AsioContextGroupWaits::name);

}  // namespace
}  // namespace weft::asio_io
