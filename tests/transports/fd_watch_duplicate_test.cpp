// FdWatch on one of several descriptors of an open file: the file outlives the watch.
#include <weft/transports/fd_watch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "transports/socket_loops.hpp"

namespace weft::test {
namespace {

const ErrorCode ok;

struct Event {
    Fd fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

    Fd duplicate() const { return Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }
    void signal() const {
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(fd.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    }
    void take() const {
        std::uint64_t count = 0;
        EXPECT_EQ(::read(fd.get(), &count, sizeof count), static_cast<ssize_t>(sizeof count));
    }
};

TEST(FdWatch, DuplicatesOfADescriptorAreWatchedOneAfterTheOther) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        const Event event;
        for (int i = 0; i < 5; ++i) {
            const auto watch = FdWatch::of(event.duplicate());
            EXPECT_EQ(watch->waitReadable(std::chrono::steady_clock::now()), timedOut());
            auto waiter = host.carrier().spawn([&] { return watch->waitReadable(testDeadline()); });
            thisFiber::yield();
            event.signal();
            EXPECT_EQ(waiter.join(), ok);
            event.take();
        }
    });
}

}  // namespace
}  // namespace weft::test
