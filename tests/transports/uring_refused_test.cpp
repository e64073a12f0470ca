// The kernel refuses io_uring_enter: for a while, or for good, as under a sandbox that the program installs after its
// loops have started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>

#include <liburing.h>

#include <weft/transports/uring/uring_calls.hpp>

#include "support/log_capture.hpp"
#include "transports/blocking_peer.hpp"
#include "transports/loopback_server.hpp"
#include "transports/uring_host.hpp"

namespace weft::test {
namespace {

// Refuses the next `times` calls with `error`.
class RefusingUringCalls final : public UringCalls {
  public:
    std::atomic<int> error{0};
    std::atomic<int> times{0};

    void refuse(int with, int howOften) {
        error = with;
        times = howOften;
    }
    int submitAndWait(io_uring& ring, __kernel_timespec* timeout) noexcept override {
        return refused() ? -error : UringCalls::submitAndWait(ring, timeout);
    }
    int submitAndGetEvents(io_uring& ring) noexcept override {
        return refused() ? -error : UringCalls::submitAndGetEvents(ring);
    }

  private:
    bool refused() noexcept { return times > 0 && times-- > 0; }
};

using UringRefused = UringTransport;

TEST_F(UringRefused, ALoopOutlivesErrorsThatPass) {
    const auto outlives = [](int error, int times) {
        const DescriptorGuard guard;
        RefusingUringCalls calls;
        UringHost host({}, calls);
        Server server(host, echo);
        BlockingPeer peer(server.address);
        calls.refuse(error, times);
        peer.send("x");
        EXPECT_EQ(peer.receive(), "x") << error;
        EXPECT_LE(calls.times, 0);
    };
    for (const int error : {EAGAIN, EBUSY, EINTR, ENOMEM}) outlives(error, 20);
    outlives(EBADF, 1);  // once: the ring is then used by its descriptor, as valgrind wants it
}

TEST_F(UringRefused, ALoopThatIsRefusedAgainAndAgainSaysSoOnce) {
    LogCapture log;
    RefusingUringCalls calls;
    UringHost host({}, calls);
    calls.refuse(ENOMEM, 100'000);
    host.inLoop([] {});
    EXPECT_TRUE(log.await("io_uring_enter", "Cannot allocate memory"));
    calls.times = 0;
    host.stop();
    EXPECT_EQ(log.countAt(LogLevel::warning, "io_uring_enter"), 1);
}

using UringRefusedDeathTest = UringTransport;
TEST_F(UringRefusedDeathTest, ALoopThatTheKernelRefusesForGoodEndsTheProgramAndNamesTheCallAndTheError) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const int error : {EPERM, ENOSYS, EACCES, EINVAL}) {
        EXPECT_DEATH(
            {
                RefusingUringCalls calls;
                UringHost host({}, calls);
                calls.refuse(error, 1'000'000'000);
                host.inLoop([] {});
                host.inLoop([] {});
            },
            "io_uring_enter.*" + fromErrno(error).message());
    }
}

}  // namespace
}  // namespace weft::test
