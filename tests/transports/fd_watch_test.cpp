// FdWatch: fibers wait for descriptors of every kind.
#include <weft/transports/fd_watch.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_listener.hpp>

#include "transports/socket_loops.hpp"
#include "transports/tcp_pair.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

const ErrorCode ok;

void letOthersPark() {
    for (int i = 0; i < 100; ++i) thisFiber::yield();
}

Fd event(unsigned count = 0) {
    return Fd(::eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK));
}
void signal(int fd) {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
}
bool take(int fd) {
    std::uint64_t count = 0;
    return ::read(fd, &count, sizeof count) == static_cast<ssize_t>(sizeof count);
}

struct Pipe {
    Pipe() {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        out = Fd(ends[0]);
        in = Fd(ends[1]);
    }
    Fd out;
    Fd in;
};

TEST(FdWatch, AFiberWaitsUntilTheDescriptorIsReadable) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        const auto watch = FdWatch::of(event());
        bool woken = false;
        auto waiter = host.carrier().spawn([&] {
            const ErrorCode error = watch->waitReadable(testDeadline());
            woken = true;
            return error;
        });
        letOthersPark();
        EXPECT_FALSE(woken);
        signal(watch->fd());
        EXPECT_EQ(waiter.join(), ok);
        EXPECT_EQ(watch->waitReadable(), ok) << "nobody has read: it is ready still";
        EXPECT_TRUE(take(watch->fd()));
        EXPECT_EQ(watch->waitReadable(std::chrono::steady_clock::now() + 1ms), timedOut());
    });
}

TEST(FdWatch, AReadyDescriptorNeedsNoWait) {
    SocketLoops host;
    host.inFiber([&] {
        const auto watch = FdWatch::of(event(1));
        EXPECT_EQ(watch->waitReadable(std::chrono::steady_clock::now() - 1s), ok);
        EXPECT_EQ(watch->waitWritable(std::chrono::steady_clock::now() - 1s), ok);
        auto cancelled = host.carrier().spawn([&] { return watch->waitReadable(); });
        cancelled.cancel();
        EXPECT_EQ(cancelled.join(), ok);
        const NonSuspendingScope here;
        EXPECT_EQ(watch->waitReadable(), ok);
        EXPECT_TRUE(take(watch->fd()));
        EXPECT_THROW(watch->waitReadable(), BlockingOperationException);
    });
}

TEST(FdWatch, ACancelledWaitReportsTheCancellation) {
    SocketLoops host;
    host.inFiber([&] {
        const auto watch = FdWatch::of(event());
        auto waiter = host.carrier().spawn([&] { return watch->waitReadable(); });
        letOthersPark();
        waiter.cancel();
        EXPECT_EQ(waiter.join(), operationAborted());
        signal(watch->fd());
        EXPECT_EQ(watch->waitReadable(testDeadline()), ok) << "the watch is as good as before";
    });
}

TEST(FdWatch, ACloseEndsEveryWait) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        Pipe pipe;
        while (::write(pipe.in.get(), std::string(4096, 'x').data(), 4096) > 0) {
        }
        const auto watch = FdWatch::of(std::move(pipe.in));
        std::vector<JoinHandle<ErrorCode>> waiters;
        for (int i = 0; i < 3; ++i) {
            waiters.push_back(host.carrier().spawn([&] { return watch->waitWritable(); }));
            waiters.push_back(host.carrier().spawn([&] { return watch->waitReadable(); }));
        }
        letOthersPark();
        watch->close();
        for (auto& waiter : waiters) EXPECT_EQ(waiter.join(), operationAborted());
        EXPECT_FALSE(watch->isOpen());
        EXPECT_EQ(watch->fd(), -1);
        EXPECT_EQ(watch->waitReadable(), operationAborted());
        watch->close();
        EXPECT_FALSE(watch->release());
    });
}

TEST(FdWatch, AReleaseEndsEveryWaitAndLeavesTheDescriptorOpen) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([&] {
        auto watch = FdWatch::of(event());
        auto waiter = host.carrier().spawn([&] { return watch->waitReadable(); });
        letOthersPark();
        Fd released = watch->release();
        EXPECT_EQ(waiter.join(), operationAborted());
        EXPECT_EQ(watch->waitReadable(), operationAborted());
        signal(released.get());
        const auto again = FdWatch::of(std::move(released));
        EXPECT_EQ(again->waitReadable(testDeadline()), ok);
    });
}

TEST(FdWatch, EveryWaiterIsToldAndThoseWhoFindNothingWaitAgain) {
    SocketLoops host;
    host.inFiber([&] {
        const auto watch = FdWatch::of(event());
        int taken = 0;
        std::vector<JoinHandle<ErrorCode>> waiters;
        for (int i = 0; i < 5; ++i) {
            waiters.push_back(host.carrier().spawn([&] {
                while (ErrorCode(watch->waitReadable(testDeadline())) == ok) {
                    if (!take(watch->fd())) continue;
                    ++taken;
                    return ok;
                }
                return timedOut();
            }));
        }
        for (int i = 1; i <= 5; ++i) {
            letOthersPark();
            signal(watch->fd());
            for (int turn = 0; turn < 100'000 && taken < i; ++turn) thisFiber::yield();
            EXPECT_EQ(taken, i);
        }
        for (auto& waiter : waiters) EXPECT_EQ(waiter.join(), ok);
    });
}

TEST(FdWatch, BothDirectionsAreWaitedForAtOnce) {
    SocketLoops host;
    host.inFiber([&] {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        const auto watch = FdWatch::of(Fd(ends[0]));
        const Fd other(ends[1]);
        const std::string bytes(4096, 'x');
        while (::send(watch->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
        }
        auto reader = host.carrier().spawn([&] { return watch->waitReadable(testDeadline()); });
        auto writer = host.carrier().spawn([&] { return watch->waitWritable(testDeadline()); });
        letOthersPark();
        ASSERT_EQ(::send(other.get(), "x", 1, MSG_NOSIGNAL), 1);
        EXPECT_EQ(reader.join(), ok);
        EXPECT_FALSE(writer.done());
        std::array<char, 65536> room;
        while (::recv(other.get(), room.data(), room.size(), 0) > 0) {
        }
        EXPECT_EQ(writer.join(), ok);
    });
}

TEST(FdWatch, TheEndOfTheOtherSideIsReady) {
    SocketLoops host;
    host.inFiber([&] {
        Pipe ended;
        const auto reading = FdWatch::of(std::move(ended.out));
        auto reader = host.carrier().spawn([&] { return reading->waitReadable(testDeadline()); });
        letOthersPark();
        ended.in.close();
        EXPECT_EQ(reader.join(), ok);

        Pipe full;
        while (::write(full.in.get(), std::string(4096, 'x').data(), 4096) > 0) {
        }
        const auto writing = FdWatch::of(std::move(full.in));
        auto writer = host.carrier().spawn([&] { return writing->waitWritable(testDeadline()); });
        letOthersPark();
        full.out.close();
        EXPECT_EQ(writer.join(), ok);
    });
}

TEST(FdWatch, APidfdIsReadableWhenItsProcessHasEnded) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([] {
        Pipe hold;
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(hold.in.get());
            char byte;
            while (::read(hold.out.get(), &byte, 1) < 0) {
            }
            ::_exit(7);
        }
        ASSERT_GT(child, 0);
        const auto watch = FdWatch::of(Fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))));
        EXPECT_EQ(watch->waitReadable(std::chrono::steady_clock::now() + 1ms), timedOut());
        hold.in.close();  // lets the process end
        EXPECT_EQ(watch->waitReadable(testDeadline()), ok);
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, WNOHANG), child);
        EXPECT_EQ(WEXITSTATUS(status), 7);
    });
}

TEST(FdWatch, ATimerIsReadyAtEachExpiry) {
    SocketLoops host;
    host.inFiber([] {
        const auto watch = FdWatch::of(Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)));
        const itimerspec everyMillisecond{{0, 1'000'000}, {0, 1'000'000}};
        ASSERT_EQ(::timerfd_settime(watch->fd(), 0, &everyMillisecond, nullptr), 0);
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(watch->waitReadable(testDeadline()), ok);
            EXPECT_TRUE(take(watch->fd()));
        }
    });
}

TEST(FdWatch, NoEdgeIsLostHoweverMuchIsRead) {
    SocketLoops host;
    host.inFiber([&] {
        Pipe pipe;
        const auto reading = FdWatch::of(std::move(pipe.out));
        const auto writing = FdWatch::of(std::move(pipe.in));
        constexpr std::size_t all = 1'000'000;
        auto writer = host.carrier().spawn([&] {
            const std::string bytes(5000, 'x');
            for (std::size_t sent = 0; sent < all;) {
                const ssize_t count = ::write(writing->fd(), bytes.data(), std::min(bytes.size(), all - sent));
                if (count > 0) sent += static_cast<std::size_t>(count);
                else EXPECT_EQ(writing->waitWritable(testDeadline()), ok);
            }
            writing->close();
        });
        std::size_t received = 0;
        for (std::size_t size = 1;; size = size % 3000 + 7) {
            ASSERT_EQ(reading->waitReadable(testDeadline()), ok);
            std::array<char, 3100> bytes;
            const ssize_t count = ::read(reading->fd(), bytes.data(), size);
            ASSERT_GE(count, 0);
            if (count == 0) break;
            received += static_cast<std::size_t>(count);
        }
        EXPECT_EQ(received, all);
        writer.join();
    });
}

TEST(FdWatch, WhatTheKernelRefusesIsTheFirstWaitsError) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([] {
        const auto regular = FdWatch::of(Fd(::memfd_create("regular file", MFD_CLOEXEC)));
        EXPECT_EQ(regular->waitReadable(), fromErrno(EPERM));
        EXPECT_EQ(regular->waitWritable(), fromErrno(EPERM));
        const auto notOpen = FdWatch::of(Fd(1'000'000));
        EXPECT_EQ(notOpen->waitReadable(), fromErrno(EBADF));
        EXPECT_EQ(FdWatch::of(Fd())->waitReadable(), operationAborted());
    });
}

TEST(FdWatch, ADescriptorIsWatchedOnceAndItsDuplicatesToo) {
    const DescriptorGuard guard;
    SocketLoops host;
    host.inFiber([] {
        const auto first = FdWatch::of(event());
        EXPECT_EQ(first->waitReadable(std::chrono::steady_clock::now()), timedOut());
        const auto second = FdWatch::of(Fd(first->fd()));
        EXPECT_EQ(second->waitReadable(), fromErrno(EEXIST));
        EXPECT_GE(second->release().release(), 0);  // the first watch closes it
        const auto duplicate = FdWatch::of(Fd(::fcntl(first->fd(), F_DUPFD_CLOEXEC, 0)));
        EXPECT_EQ(duplicate->waitReadable(std::chrono::steady_clock::now()), timedOut());
        signal(first->fd());
        EXPECT_EQ(duplicate->waitReadable(testDeadline()), ok);
        EXPECT_EQ(first->waitReadable(testDeadline()), ok);
    });
}

// As one watches the socket of a library that reads and writes it itself.
TEST(FdWatch, ADuplicateOfASocketThatAStreamUsesIsWatchedBesideIt) {
    SocketLoops host;
    host.inFiber([&] {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        const auto stream = host.poller().fiberStream(Fd(ends[0]));
        const Fd other(ends[1]);
        const auto watch = FdWatch::of(Fd(::fcntl(ends[0], F_DUPFD_CLOEXEC, 0)));
        auto waiter = host.carrier().spawn([&] { return watch->waitReadable(testDeadline()); });
        std::array<char, 8> bytes;
        ErrorCode error;
        auto reader = host.carrier().spawn([&] { return stream->readSome(bytes, testDeadline(), error); });
        letOthersPark();
        ASSERT_EQ(::send(other.get(), "hello", 5, MSG_NOSIGNAL), 5);
        EXPECT_EQ(reader.join(), 5u);
        stream->close();
        ::shutdown(other.get(), SHUT_WR);
        EXPECT_EQ(waiter.join(), ok);
    });
}

TEST(FdWatch, TheEndOfTheLoopEndsItsWaits) {
    const DescriptorGuard guard;
    SocketLoops host;
    auto fiber = host.carrier().spawn([&] {
        const auto watch = FdWatch::of(event());
        host.loop().stop();
        return watch->waitReadable();
    });
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(FdWatch, TheShutdownOfTheCarrierEndsItsWaits) {
    const DescriptorGuard guard;
    SocketLoops host;
    std::atomic<bool> waits{false};
    auto fiber = host.carrier().spawn([&] {
        const auto watch = FdWatch::of(event());
        waits = true;
        return watch->waitReadable();
    });
    while (!waits) std::this_thread::yield();
    EXPECT_TRUE(host.group().shutdown(20s));
    EXPECT_EQ(fiber.join(), operationAborted());
}

TEST(FdWatch, IsForFibersOfItsCarrierOnly) {
    SocketLoops host(2);
    EXPECT_THROW(FdWatch::of(event()), std::logic_error);
    host.inFiber([&] {
        const auto watch = FdWatch::of(event(1));
        auto elsewhere = host.carrier(1).spawn([&] { return watch->waitReadable(); });
        EXPECT_THROW(elsewhere.join(), std::logic_error);
    });
}

}  // namespace
}  // namespace weft::test
