// ConnectionStage: one connection for the test of a rule. Its server end is a channel on an event loop; the test plays
// its other end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/testing/sockets_bench.hpp>

namespace weft::test {

class ConnectionStage {
  public:
    virtual ~ConnectionStage() = default;
    // Returns once the connection is established and its channel active; setUp(Channel&) adds the handlers.
    virtual void open(const ChannelSetup& setUp) = 0;
    virtual Channel& channel() = 0;
    // Runs fn on the loop, then everything that results from it.
    virtual void inLoop(const std::function<void()>& fn) = 0;
    // Actions of the peer.
    virtual void send(const std::string& bytes) = 0;
    virtual void endInput() = 0;
    virtual void reset() = 0;
    // Returns the next `size` bytes that the peer receives.
    virtual std::string received(std::size_t size) = 0;
    // Returns whether the peer reaches the end of the stream.
    virtual bool peerSeesEnd() = 0;
    // Runs the loop until condition() holds; it is evaluated on the loop.
    virtual void until(const std::function<bool()>& condition) = 0;
};

struct RuleStage {
    std::string name;  // letters and digits, for the tests' names
    std::function<std::unique_ptr<ConnectionStage>()> make;
};

inline void PrintTo(const RuleStage& stage, std::ostream* out) {
    *out << stage.name;
}

inline std::string nameOfStage(const ::testing::TestParamInfo<RuleStage>& info) {
    return info.param.name;
}

class SocketsStage final : public ConnectionStage {
  public:
    explicit SocketsStage(const SocketsUnderTest& under) : host_(under) {}
    ~SocketsStage() override {
        host_.stop();
        channel_ = nullptr;
    }
    void open(const ChannelSetup& setUp) override {
        const auto opened = std::make_shared<Promise<void>>();
        Future<void> done = opened->future();
        server_.emplace(host_, [this, setUp, opened](Channel& channel) {
            setUp(channel);
            channel_ = ChannelRef(channel);
            opened->setValue();
        });
        peer_.emplace(server_->address());
        ASSERT_TRUE(done.awaitUntil(std::chrono::steady_clock::now() + socketsTimeout));
        host_.inLoop([] {});  // the registration continues after its initializer
    }
    Channel& channel() override { return *channel_; }
    void inLoop(const std::function<void()>& fn) override {
        host_.inLoop(fn);
        settle();
    }
    void send(const std::string& bytes) override {
        EXPECT_TRUE(peer_->send(bytes));
        settle();
    }
    void endInput() override {
        peer_->endOutput();
        settle();
    }
    void reset() override {
        peer_->reset();
        peer_.reset();
        settle();
    }
    std::string received(std::size_t size) override {
        std::string bytes(size, '\0');
        bytes.resize(peer_->receive(bytes.data(), size));
        return bytes;
    }
    bool peerSeesEnd() override { return peer_->ended(); }
    void until(const std::function<bool()>& condition) override {
        const auto end = std::chrono::steady_clock::now() + socketsTimeout;
        bool holds = false;
        while (!holds && std::chrono::steady_clock::now() < end) {
            host_.inLoop([&] { holds = condition(); });
            if (!holds) std::this_thread::yield();
        }
        EXPECT_TRUE(holds) << "it never does";
    }

  private:
    // Waits for a turn that polls, and for one after its tasks.
    void settle() {
        host_.inLoop([] {});
        host_.inLoop([] {});
    }

    SocketsHost host_;
    std::optional<HandlerServer> server_;
    std::optional<PlainClient> peer_;
    ChannelRef channel_;
};

inline RuleStage onSockets(SocketsUnderTest under) {
    std::string name = under.name;
    return {std::move(name), [under = std::move(under)] { return std::make_unique<SocketsStage>(under); }};
}

}  // namespace weft::test
