// A user's own transport, which counts the calls of epoll, under the installed conformance kit.
#include <cstddef>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include <weft/testing/channel_rules.hpp>
#include <weft/testing/sockets_conformance.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>

namespace {

class MyIoHandler final : public weft::SocketIoHandler {
  public:
    void open(weft::Carrier& carrier) override { epoll_.open(carrier); }
    weft::PollResult poll(weft::PollGuard* guard, weft::Deadline deadline, weft::Budget budget) override {
        const weft::PollResult result = epoll_.poll(guard, deadline, budget);
        events_ += result.events;
        return result;
    }
    void wakeup() noexcept override { epoll_.wakeup(); }
    bool hasWork() const noexcept override { return epoll_.hasWork(); }
    int pollFd() const noexcept override { return epoll_.pollFd(); }
    void closeChannels() override { epoll_.closeChannels(); }
    void prepareToClose() override { epoll_.prepareToClose(); }
    bool closable() const noexcept override { return epoll_.closable(); }
    void close() override { epoll_.close(); }

    std::unique_ptr<weft::ChannelSink> stream(weft::Fd fd, weft::Channel& channel) override {
        return epoll_.stream(std::move(fd), channel);
    }
    std::unique_ptr<weft::ChannelSink> listener(weft::Fd fd, weft::Channel& channel,
                                                weft::ChildSetup children) override {
        return epoll_.listener(std::move(fd), channel, std::move(children));
    }
    std::unique_ptr<weft::ChannelSink> connector(weft::Fd fd, weft::Channel& channel) override {
        return epoll_.connector(std::move(fd), channel);
    }
    std::unique_ptr<weft::FiberStream> fiberStream(weft::Fd fd) override { return epoll_.fiberStream(std::move(fd)); }
    std::unique_ptr<weft::FiberListener> fiberListener(weft::Fd fd) override {
        return epoll_.fiberListener(std::move(fd));
    }
    std::unique_ptr<weft::FdWatch> watch(weft::Fd fd) override { return epoll_.watch(std::move(fd)); }
    weft::SystemCalls& systemCalls() noexcept override { return epoll_.systemCalls(); }
    using weft::SocketIoHandler::listener;

  private:
    weft::EpollIoHandler epoll_;
    std::size_t events_ = 0;
};

}  // namespace

namespace weft::test {

const SocketsUnderTest mine{"Mine", [] { return std::make_unique<MyIoHandler>(); }};
INSTANTIATE_TEST_SUITE_P(Mine, SocketsConformance, ::testing::Values(mine), nameOfSockets);
INSTANTIATE_TEST_SUITE_P(Mine, ChannelRules, ::testing::Values(onSockets(mine)), nameOfStage);

}  // namespace weft::test
