// The stages on which rules_test.cpp plays: one connection, its server end a channel on an event loop, its other end
// the test's. In memory (embedded loop, no kernel), on epoll with scripted system calls, on epoll with loopback
// sockets.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>

#include "pipeline/scripted_sink.hpp"
#include "transports/blocking_peer.hpp"
#include "transports/hosted_loop.hpp"
#include "transports/loopback_server.hpp"
#include "transports/scripted_bench.hpp"

namespace weft::test {

// What all stages can do:
//   open(setUp)        the connection stands, its channel is active; setUp(Channel&) has added the handlers
//   channel()          the server end
//   inLoop(fn)         runs fn on the loop, then what follows from it
//   send, endInput, reset   what the peer does
//   received(n)        the next n bytes that the peer gets
//   peerSeesEnd()      the peer gets no more
//   until(condition)   lets the loop run until condition(), asked on the loop, holds
class MemoryStage {
  public:
    void open(const Initializer& setUp) {
        end_.pipeline().addLast(setUp);
        end_.start();
    }
    Channel& channel() { return *end_.channel; }
    void inLoop(const std::function<void()>& fn) {
        end_.loop.execute(fn);
        settle();
    }
    void send(const std::string& bytes) {
        arrived_.push_back(bytes);
        settle();
    }
    void endInput() {
        ended_ = true;
        settle();
    }
    void reset() {
        reset_ = true;
        settle();
    }
    std::string received(std::size_t size) {
        const std::string bytes = end_.sink->written.substr(0, size);
        end_.sink->written.erase(0, size);
        return bytes;
    }
    bool peerSeesEnd() {
        return end_.sink->written.empty() && (channel().closed() || end_.sink->count("shutdownOutput") > 0);
    }
    void until(const std::function<bool()>& condition) {
        settle();
        EXPECT_TRUE(condition()) << "nothing is left to do";
    }

  private:
    // As a transport does: one cycle for each permission, and the end behind the last byte.
    void settle() {
        end_.run();
        while (end_.sink->wantsRead && !channel().closed() && deliverOnce()) end_.run();
    }
    bool deliverOnce() {
        if (arrived_.empty()) return deliverEnd();
        do {
            Buffer bytes = Buffer::copyOf(arrived_.front());
            arrived_.pop_front();
            channel().onRead(std::move(bytes));
        } while (!arrived_.empty() && channel().keepReading());
        channel().onReadComplete();
        return true;
    }
    bool deliverEnd() {
        if (std::exchange(reset_, false)) {
            channel().onError(fromErrno(ECONNRESET));
        } else if (std::exchange(ended_, false)) {
            channel().onEof();
        } else {
            return false;
        }
        return true;
    }

    ScriptedChannel end_;
    std::deque<std::string> arrived_;
    bool ended_ = false;
    bool reset_ = false;
};

class ScriptedStage {
  public:
    ~ScriptedStage() { channel_ = nullptr; }
    void open(const Initializer& setUp) {
        channel_ = Channel::create(bench_.loop);
        channel_->attach(bench_.poller.stream(Fd(fd, bench_.calls), *channel_));
        channel_->setActive(true);
        channel_->pipeline().addLast(setUp);
        channel_->registerWithLoop({});
        settle();
    }
    Channel& channel() { return *channel_; }
    void inLoop(const std::function<void()>& fn) {
        bench_.loop.execute(fn);
        settle();
    }
    void send(const std::string& bytes) {
        bench_.calls.nextRecv(fd, {data(bytes)});
        happens(EPOLLIN);
    }
    void endInput() {
        bench_.calls.nextRecv(fd, {endOfInput()});
        happens(EPOLLIN | EPOLLRDHUP);
    }
    void reset() {
        bench_.calls.nextRecv(fd, {failsWith(ECONNRESET)});
        happens(EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP);
    }
    std::string received(std::size_t size) {
        const std::string bytes = bench_.calls.sent(fd).substr(taken_, size);
        taken_ += bytes.size();
        return bytes;
    }
    bool peerSeesEnd() {
        return taken_ == bench_.calls.sent(fd).size() &&
               (bench_.calls.closed(fd) || bench_.calls.count("shutdown") > 0);
    }
    void until(const std::function<bool()>& condition) {
        settle();
        EXPECT_TRUE(condition()) << "nothing is left to do";
    }

  private:
    static constexpr int fd = 500;
    void happens(std::uint32_t events) {
        bench_.turn({{fd, events}});
        settle();
    }
    void settle() {
        bench_.loop.runTasks();
        while (bench_.turn().more) {
        }
    }

    ScriptedBench bench_;
    ChannelRef channel_;
    std::size_t taken_ = 0;
};

class LoopbackStage {
  public:
    ~LoopbackStage() {
        host_.stop();
        channel_ = nullptr;
    }
    void open(const Initializer& setUp) {
        const auto opened = std::make_shared<Promise<void>>();
        Future<void> done = opened->future();
        server_ = std::make_unique<Server<HostedLoop>>(host_, [this, setUp, opened](Channel& channel) {
            setUp(channel);
            channel_ = ChannelRef(channel);
            opened->setValue();
        });
        peer_ = std::make_unique<BlockingPeer>(server_->address);
        ASSERT_TRUE(done.awaitUntil(patience()));
        host_.inLoop([] {});  // the registration goes on behind its initializer
    }
    Channel& channel() { return *channel_; }
    void inLoop(const std::function<void()>& fn) {
        host_.inLoop(fn);
        settle();
    }
    void send(const std::string& bytes) {
        peer_->send(bytes);
        settle();
    }
    void endInput() {
        peer_->endOutput();
        settle();
    }
    void reset() {
        peer_->reset();
        settle();
    }
    std::string received(std::size_t size) { return peer_->receiveExactly(size); }
    bool peerSeesEnd() { return peer_->receive() == ""; }
    void until(const std::function<bool()>& condition) {
        const Deadline end = patience();
        bool holds = false;
        while (!holds && Clock::steady().now() < end) {
            host_.inLoop([&] { holds = condition(); });
            if (!holds) std::this_thread::yield();
        }
        EXPECT_TRUE(holds) << "it never does";
    }

  private:
    // A turn that polls, and one behind its tasks.
    void settle() {
        host_.inLoop([] {});
        host_.inLoop([] {});
    }

    HostedLoop host_;
    std::unique_ptr<Server<HostedLoop>> server_;
    std::unique_ptr<BlockingPeer> peer_;
    ChannelRef channel_;
};

struct StageNames {
    template <class Stage>
    static std::string GetName(int) {
        if (std::is_same_v<Stage, MemoryStage>) return "InMemory";
        return std::is_same_v<Stage, ScriptedStage> ? "ScriptedEpoll" : "LoopbackEpoll";
    }
};

}  // namespace weft::test
