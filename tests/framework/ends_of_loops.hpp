// The rows of the table of ends, and a base for its tests: a group of loops on each kind of carriers and transport,
// which ends in each way; and every operation of a channel that a program has kept beyond that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/transports/uring/uring_support.hpp>

#include "framework/bench.hpp"

namespace weft::test {

enum class Carriers : bool { own, borrowed };
enum class End : unsigned char { shutdown, graceful, destroyed };
struct Row {
    Carriers carriers;
    Transport::Kind transport;
    End end;
};

inline std::string nameOf(const testing::TestParamInfo<Row>& row) {
    const char* const ends[] = {"Shutdown", "Graceful", "Destroyed"};
    return std::string(row.param.carriers == Carriers::own ? "Own" : "Borrowed") +
           (row.param.transport == Transport::Kind::epoll ? "Epoll" : "Uring") +
           ends[static_cast<std::size_t>(row.param.end)];
}

inline std::vector<Row> rows() {
    std::vector<Row> all;
    for (const Carriers carriers : {Carriers::own, Carriers::borrowed}) {
        for (const Transport::Kind transport : {Transport::Kind::epoll, Transport::Kind::ioUring}) {
            for (const End end : {End::shutdown, End::graceful, End::destroyed})
                all.push_back({carriers, transport, end});
        }
    }
    return all;
}

// Counts the objects that a program gives to an ended loop and that are still alive.
class Witness {
  public:
    std::shared_ptr<int> one() const { return life_; }
    bool alone() const { return life_.use_count() == 1; }

  private:
    std::shared_ptr<int> life_ = std::make_shared<int>(0);
};

struct Holds final : ChannelOutboundHandler {
    explicit Holds(std::shared_ptr<int> its) : held(std::move(its)) {}
    void handlerAdded(ChannelHandlerContext&) override { ADD_FAILURE() << "added to the pipeline of an ended loop"; }
    const std::shared_ptr<int> held;
};

inline void expectRefused(const ChannelFuture& future, const char* what) {
    ASSERT_TRUE(future.awaitUntil(testDeadline())) << what << " has no end";
    EXPECT_FALSE(future.success()) << what;
}
inline void expectSuccess(const ChannelFuture& future, const char* what) {
    ASSERT_TRUE(future.awaitUntil(testDeadline())) << what << " has no end";
    EXPECT_TRUE(future.success()) << what;
}

inline void useChannel(Channel& channel) {
    const Witness witness;
    EXPECT_FALSE(channel.open());
    EXPECT_FALSE(channel.active());
    expectSuccess(channel.closeFuture(), "closeFuture()");
    expectSuccess(channel.close(), "close()");
    expectSuccess(channel.disconnect(), "disconnect()");
    const ChannelPromise written = channel.newPromise();
    channel.writeAndFlush(Message(witness.one()), written);
    expectRefused(written.future(), "writeAndFlush()");
    channel.write(Message(witness.one()));
    channel.flush();
    channel.read();
    expectRefused(channel.writeFuture(Buffer::copyOf("x")), "writeFuture()");
    expectRefused(channel.shutdownOutput(), "shutdownOutput()");
    expectRefused(channel.bind(anyPort), "bind()");
    expectRefused(channel.connect(anyPort), "connect()");
    EXPECT_TRUE(channel.deregister().awaitUntil(testDeadline()));
    channel.pipeline().addLast(std::make_unique<Holds>(witness.one()));
    channel.pipeline().addFirst("first", std::make_unique<Holds>(witness.one()));
    channel.pipeline().addBefore("none", "other", std::make_unique<Holds>(witness.one()));
    channel.pipeline().remove("none");
    channel.pipeline().fireUserEventTriggered(Message(witness.one()));
    channel.setUserDefinedWritability(1, false);
    EXPECT_EQ(channel.setOption(ChannelOption::NO_DELAY, true), operationAborted());
    static_cast<void>(channel.setOption(ChannelOption::AUTO_READ, false));
    EXPECT_TRUE(witness.alone());
}

class EndsOfLoops : public testing::TestWithParam<Row> {
  protected:
    void SetUp() override {
        if (GetParam().transport == Transport::Kind::ioUring && !UringSupport::ofThisProcess().available())
            GTEST_SKIP() << "io_uring is not permitted here";
        if (borrows()) carriers_.emplace(carrierOptions("test", 2));
        EventLoopGroupOptions options = groupOptions(2);
        options.transport = GetParam().transport;
        options.ioHandler = ioHandler();
        group_ = borrows() ? std::make_unique<EventLoopGroup>(*carriers_, options.transport, EventLoop::Options(),
                                                              options.ioHandler)
                           : std::make_unique<EventLoopGroup>(options);
    }
    virtual IoHandlerWrapper ioHandler() const { return {}; }
    bool borrows() const { return GetParam().carriers == Carriers::borrowed; }

    void end() {
        switch (GetParam().end) {
            case End::shutdown: ASSERT_TRUE(group_->shutdown(20s)); break;
            case End::graceful: group_->shutdownGracefully(0ms, 1h).await(); break;
            case End::destroyed: group_.reset(); break;
        }
    }
    // Calls use() on a plain thread, and on the loop's own carrier where that runs on.
    template <class Use>
    void byEachCaller(std::size_t carrier, Use use) {
        use();
        if (borrows()) carriers_->carrier(carrier).spawn(use).join();
    }

    std::optional<CarrierGroup> carriers_;
    std::unique_ptr<EventLoopGroup> group_;
};

}  // namespace weft::test
