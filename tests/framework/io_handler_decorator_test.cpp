// EventLoopGroupOptions::ioHandler: an application wraps the I/O handler of every loop.
#include <weft/framework/event_loop_group.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include <weft/scheduler/io_handler_decorator.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "framework/bench.hpp"
#include "transports/counting_system_calls.hpp"

namespace weft::test {
namespace {

using Handler = std::unique_ptr<IoHandler>;
using BuiltIn = std::unique_ptr<SocketIoHandler>;

struct Counts {
    std::atomic<int> opens{0}, polls{0}, wakeups{0}, closes{0}, alive{0};
    std::atomic<unsigned> events{0};
};

class Counting final : public IoHandlerDecorator {
  public:
    Counting(Handler wrapped, Counts& counts) : IoHandlerDecorator(std::move(wrapped)), counts_(counts) {
        ++counts_.alive;
    }
    ~Counting() override { --counts_.alive; }
    void open(Carrier& carrier) override {
        ++counts_.opens;
        IoHandlerDecorator::open(carrier);
    }
    PollResult poll(PollGuard* guard, Deadline deadline, Budget budget) override {
        ++counts_.polls;
        const PollResult result = IoHandlerDecorator::poll(guard, deadline, budget);
        counts_.events += result.events;
        return result;
    }
    void wakeup() noexcept override {
        ++counts_.wakeups;
        IoHandlerDecorator::wakeup();
    }
    void close() override {
        ++counts_.closes;
        IoHandlerDecorator::close();
    }

  private:
    Counts& counts_;
};

EventLoopGroupOptions wrapping(unsigned carriers, std::function<Handler(BuiltIn)> wrap) {
    EventLoopGroupOptions options = groupOptions(carriers);
    options.ioHandler = std::move(wrap);
    return options;
}

TEST(IoHandlerDecoratorTest, SeesEveryPollOfEveryLoopAndTheEventsOfItsChannels) {
    DescriptorGuard descriptors;
    Counts counts;
    {
        EventLoopGroup group(
            wrapping(2, [&](BuiltIn builtIn) { return std::make_unique<Counting>(std::move(builtIn), counts); }));
        EXPECT_EQ(counts.opens, 2);
        Server server = serveEcho(group);
        for (int i = 0; i < 8; ++i) {
            BlockingPeer peer(server.localAddress());
            EXPECT_EQ(echoed(peer, "hello"), "hello");
        }
        EXPECT_GE(counts.events, 16u);  // one accept and one read each
        EXPECT_GE(counts.polls, 2);
        EXPECT_GE(counts.wakeups, 0);
    }
    EXPECT_EQ(counts.closes, 2);
    EXPECT_EQ(counts.alive, 0);
}

TEST(IoHandlerDecoratorTest, FibersFindTheSocketsOfTheHandlerInside) {
    DescriptorGuard descriptors;
    Counts counts;
    EventLoopGroup group(wrapping(1, [&](BuiltIn builtIn) -> Handler {
        auto once = std::make_unique<Counting>(std::move(builtIn), counts);
        return std::make_unique<Counting>(std::move(once), counts);  // a decorator around a decorator
    }));
    EXPECT_NE(SocketIoHandler::of(group.loop(0)), nullptr);
    group.carriers()
        .carrier(0)
        .spawn([] {
            TcpListener listener = TcpListener::listen(anyPort);
            TcpStream client = TcpStream::connect(listener.localAddress(), testDeadline());
            TcpStream server = listener.accept(testDeadline());
            server.write(std::string_view("hello"));
            EXPECT_EQ(client.read(64).view(), "hello");
        })
        .join();
}

TEST(IoHandlerDecoratorTest, ABorrowedCarrierGroupGetsItToo) {
    DescriptorGuard descriptors;
    Counts counts;
    CarrierGroup carriers(carrierOptions("borrowed", 2));
    {
        EventLoopGroup group(carriers, {}, {},
                             [&](BuiltIn builtIn) { return std::make_unique<Counting>(std::move(builtIn), counts); });
        EXPECT_EQ(counts.opens, 2);
    }
    EXPECT_EQ(counts.alive, 0);
}

TEST(IoHandlerDecoratorTest, AnotherHandlerWithSocketsMayTakeThePlaceOfTheBuiltInOne) {
    DescriptorGuard descriptors;
    CountingSystemCalls calls;
    EventLoopGroup group(wrapping(1, [&](BuiltIn) { return std::make_unique<EpollIoHandler>(calls); }));
    Server server = serveEcho(group);
    BlockingPeer peer(server.localAddress());
    EXPECT_EQ(echoed(peer, "hello"), "hello");
    EXPECT_GT(calls.recvs, 0);
}

template <class Error>
std::string refusalOf(std::function<Handler(BuiltIn)> wrap) {
    DescriptorGuard descriptors;
    try {
        EventLoopGroup group(wrapping(2, std::move(wrap)));
        ADD_FAILURE() << "no exception";
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

TEST(IoHandlerDecoratorTest, AFunctionThatThrowsFailsTheGroupAndLeavesNothingBehind) {
    EXPECT_EQ(refusalOf<std::runtime_error>([](BuiltIn) -> Handler { throw std::runtime_error("on purpose"); }),
              "on purpose");
}

TEST(IoHandlerDecoratorTest, AFunctionThatThrowsForTheSecondCarrierEndsTheLoopOfTheFirst) {
    Counts counts;
    int calls = 0;
    EXPECT_EQ(refusalOf<std::runtime_error>([&](BuiltIn builtIn) -> Handler {
                  if (++calls == 2) throw std::runtime_error("the second one");
                  return std::make_unique<Counting>(std::move(builtIn), counts);
              }),
              "the second one");
    EXPECT_EQ(counts.opens, 1);
    EXPECT_EQ(counts.alive, 0);
}

TEST(IoHandlerDecoratorTest, NullIsRefusedAndTheOptionIsNamed) {
    const std::string text = refusalOf<std::invalid_argument>([](BuiltIn) -> Handler { return nullptr; });
    EXPECT_NE(text.find("EventLoopGroupOptions::ioHandler"), std::string::npos) << text;
    EXPECT_NE(text.find("null"), std::string::npos) << text;
}

// Has no sockets, and wraps nothing that has.
class Bare final : public IoHandler {
  public:
    void open(Carrier&) override {}
    PollResult poll(PollGuard*, Deadline, Budget) override { return {}; }
    void wakeup() noexcept override {}
    void prepareToClose() override {}
    void close() override {}
    const void* family() const noexcept override { return nullptr; }
};

TEST(IoHandlerDecoratorTest, AHandlerWithoutSocketsIsRefusedAndToldHowToShowThem) {
    const std::string text = refusalOf<std::invalid_argument>([](BuiltIn) { return std::make_unique<Bare>(); });
    EXPECT_NE(text.find("IoHandlerDecorator"), std::string::npos) << text;
}

// Otherwise the loop would sleep although there is work that no event reports.
TEST(IoHandlerDecoratorTest, HasWorkIsForwarded) {
    class HasWork final : public IoHandler {
      public:
        void open(Carrier&) override {}
        PollResult poll(PollGuard*, Deadline, Budget) override { return {}; }
        void wakeup() noexcept override {}
        bool hasWork() const noexcept override { return true; }
        void prepareToClose() override {}
        void close() override {}
        const void* family() const noexcept override { return nullptr; }
    };
    Counts counts;
    EXPECT_TRUE(Counting(std::make_unique<HasWork>(), counts).hasWork());
    EXPECT_FALSE(Counting(std::make_unique<Bare>(), counts).hasWork());
}

class RefusesToOpen final : public IoHandlerDecorator {
  public:
    using IoHandlerDecorator::IoHandlerDecorator;
    void open(Carrier&) override { throw SystemError(fromErrno(EMFILE), "on purpose"); }
};

TEST(IoHandlerDecoratorTest, ADecoratorThatThrowsFromOpenFailsTheGroupWithTheCarriersName) {
    const std::string text =
        refusalOf<SystemError>([](BuiltIn builtIn) { return std::make_unique<RefusesToOpen>(std::move(builtIn)); });
    EXPECT_NE(text.find("test0"), std::string::npos) << text;
    EXPECT_NE(text.find("on purpose"), std::string::npos) << text;
}

TEST(IoHandlerDecoratorTest, RefusesToWrapNull) {
    EXPECT_THROW(RefusesToOpen(nullptr), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test
