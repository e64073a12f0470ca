// SocketLoops: real carriers with an event loop each, for tests over loopback sockets, on the transport named by
// WEFT_TRANSPORT, or the best one; and a guard that counts descriptors.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/transports/epoll/epoll_io_handler.hpp>
#include <weft/transports/transport.hpp>

namespace weft::test {

inline std::size_t openDescriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));  // always includes the iterator's own
}

// Fails the test when more descriptors are open at its end than at its start.
class DescriptorGuard {
  public:
    ~DescriptorGuard() { EXPECT_EQ(openDescriptors(), before_) << "descriptors leaked (or closed twice)"; }

  private:
    const std::size_t before_ = openDescriptors();
};

// Long enough that only a lost wake-up reaches it.
inline Deadline testDeadline() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

inline CarrierOptions carrierOptions(const char* name, unsigned carriers) {
    CarrierOptions options;
    options.name = name;
    options.carriers = carriers;
    return options;
}

// One carrier on which no read yields because the machine is slow: bytes that a fiber has just sent are not polled
// before it reads them.
inline CarrierOptions carrierWithLongRuns(const char* name) {
    CarrierOptions options = carrierOptions(name, 1);
    options.yieldBudget = std::chrono::seconds(1);
    return options;
}

// Returns once the carrier has gone to sleep one more time.
inline void awaitAsleep(Carrier& carrier) {
    const auto parks = carrier.spawn([&] { return carrier.stats().parks; }).join();
    while (carrier.stats().parks == parks) std::this_thread::yield();
}

// A scripted kernel requires epoll.
inline std::unique_ptr<SocketIoHandler> makeTestedHandler(SystemCalls& calls) {
    if (&calls != &SystemCalls::kernel()) return std::make_unique<EpollIoHandler>(calls);
    const char* const transport = std::getenv("WEFT_TRANSPORT");
    return Transport::makeIoHandler(Transport::parse(transport != nullptr ? transport : "auto"));
}

class SocketLoops {
  public:
    explicit SocketLoops(unsigned carriers = 1, SystemCalls& calls = SystemCalls::kernel(),
                         const EventLoop::Options& options = {})
        : SocketLoops(carrierOptions("test", carriers), calls, options) {}
    explicit SocketLoops(const CarrierOptions& carriers, SystemCalls& calls = SystemCalls::kernel(),
                         const EventLoop::Options& options = {})
        : group_(carriers) {
        for (unsigned i = 0; i < group_.size(); ++i) {
            loops_.push_back(std::make_unique<EventLoop>(group_.carrier(i), makeTestedHandler(calls), options));
            ended_.push_back(loops_.back()->start());
            inLoop([] {}, i);  // the poller is open once its first task has run
        }
    }
    ~SocketLoops() { stop(); }

    void stop() {
        for (auto& loop : loops_) loop->stop();
        for (auto& ended : ended_) EXPECT_TRUE(ended.awaitUntil(testDeadline())) << "an event loop does not end";
    }

    CarrierGroup& group() { return group_; }
    Carrier& carrier(unsigned index = 0) { return group_.carrier(index); }
    EventLoop& loop(unsigned index = 0) { return *loops_[index]; }
    SocketIoHandler& poller(unsigned index = 0) { return static_cast<SocketIoHandler&>(*loops_[index]->io()); }

    // Runs fn() in a fiber and returns its result.
    template <class F>
    auto inFiber(F fn, unsigned index = 0) {
        return carrier(index).spawn(std::move(fn)).join();
    }
    // Runs fn() as a loop task and waits for it.
    template <class F>
    void inLoop(F fn, unsigned index = 0) {
        Promise<void> done;
        Future<void> future = done.future();
        loop(index).execute([fn = std::move(fn), done = std::move(done)]() mutable {
            fn();
            done.setValue();
        });
        ASSERT_TRUE(future.awaitUntil(testDeadline()));
    }

  private:
    CarrierGroup group_;
    std::vector<std::unique_ptr<EventLoop>> loops_;
    std::vector<Future<void>> ended_;
};

}  // namespace weft::test
