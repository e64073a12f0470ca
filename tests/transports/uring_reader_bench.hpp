// UringFiberReader: the fixture of the tests of reads by fibers on io_uring.
#pragma once

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include <weft/scheduler/clock.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/transports/tcp_stream.hpp>

#include "transports/uring_host.hpp"

namespace weft::test {

class UringFiberReader : public UringTransport {
  protected:
    template <class F>
    static void inFiber(UringHost& host, F fn) {
        host.carrier().spawn(std::move(fn)).join();
    }
    // Starts the receive of a stream and leaves it running.
    static void startReceive(TcpStream& stream) {
        ErrorCode error;
        std::array<char, 1> byte;
        stream.setDeadline(Clock::steady().now());
        EXPECT_EQ(stream.read(byte, error), 0u);
        EXPECT_EQ(error, timedOut());
        stream.setDeadline(testDeadline());
    }
    // Returns once the loop has dispatched everything that had arrived: a turn polls before it runs its tasks.
    static void letTheLoopPoll(UringHost& host) {
        Promise<void> done;
        const Future<void> polled = done.future();
        host.loop().execute([done = std::move(done)]() mutable { done.setValue(); });
        polled.await();
    }
};

}  // namespace weft::test
