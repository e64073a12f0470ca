// The stages of rules_test.cpp: in memory (embedded loop, no kernel), and on epoll with scripted system calls.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <weft/pipeline/channel.hpp>
#include <weft/testing/connection_stage.hpp>

#include "pipeline/scripted_sink.hpp"
#include "transports/scripted_bench.hpp"

namespace weft::test {

class MemoryStage final : public ConnectionStage {
  public:
    void open(const ChannelSetup& setUp) override {
        end_.pipeline().addLast(setUp);
        end_.start();
    }
    Channel& channel() override { return *end_.channel; }
    void inLoop(const std::function<void()>& fn) override {
        end_.loop.execute(fn);
        settle();
    }
    void send(const std::string& bytes) override {
        arrived_.push_back(bytes);
        settle();
    }
    void endInput() override {
        ended_ = true;
        settle();
    }
    void reset() override {
        reset_ = true;
        settle();
    }
    std::string received(std::size_t size) override {
        const std::string bytes = end_.sink->written.substr(0, size);
        end_.sink->written.erase(0, size);
        return bytes;
    }
    bool peerSeesEnd() override {
        return end_.sink->written.empty() && (channel().closed() || end_.sink->count("shutdownOutput") > 0);
    }
    void until(const std::function<bool()>& condition) override {
        settle();
        EXPECT_TRUE(condition()) << "nothing is left to do";
    }

  private:
    // As a transport does: one cycle for each wanted read, and the end after the last byte.
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

class ScriptedStage final : public ConnectionStage {
  public:
    ~ScriptedStage() override { channel_ = nullptr; }
    void open(const ChannelSetup& setUp) override {
        channel_ = Channel::create(bench_.loop);
        channel_->attach(bench_.poller.stream(Fd(fd, bench_.calls), *channel_));
        channel_->setActive(true);
        channel_->pipeline().addLast(setUp);
        channel_->registerWithLoop({});
        settle();
    }
    Channel& channel() override { return *channel_; }
    void inLoop(const std::function<void()>& fn) override {
        bench_.loop.execute(fn);
        settle();
    }
    void send(const std::string& bytes) override {
        bench_.calls.nextRecv(fd, {data(bytes)});
        happens(EPOLLIN);
    }
    void endInput() override {
        bench_.calls.nextRecv(fd, {endOfInput()});
        happens(EPOLLIN | EPOLLRDHUP);
    }
    void reset() override {
        bench_.calls.nextRecv(fd, {failsWith(ECONNRESET)});
        happens(EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP);
    }
    std::string received(std::size_t size) override {
        const std::string bytes = bench_.calls.sent(fd).substr(taken_, size);
        taken_ += bytes.size();
        return bytes;
    }
    bool peerSeesEnd() override {
        return taken_ == bench_.calls.sent(fd).size() &&
               (bench_.calls.closed(fd) || bench_.calls.count("shutdown") > 0);
    }
    void until(const std::function<bool()>& condition) override {
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

}  // namespace weft::test
