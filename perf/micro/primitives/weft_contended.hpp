// The primitives of Weft that many fibers use at the same time, on the carriers in turn.
#pragma once

#include <mutex>

#include <weft/scheduler/sync/bounded_queue.hpp>
#include <weft/scheduler/sync/mutex.hpp>
#include <weft/scheduler/sync/semaphore.hpp>

#include "weft.hpp"

namespace weft::perf {

constexpr std::size_t queueCapacity = 64;

template <class Mutex>
double contendedMutex(const Shape& shape) {
    Mutex mutex;
    long count = 0;
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) {
            std::lock_guard lock(mutex);
            keep(++count);
            if (shape.yields) thisFiber::yield();
        }
    });
}

// Permits for half of the fibers.
inline double contendedSemaphore(const Shape& shape) {
    sync::Semaphore semaphore(static_cast<std::uint32_t>(shape.fibers / 2));
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) {
            const sync::SemaphorePermit permit = semaphore.acquirePermit();
            if (shape.yields) thisFiber::yield();
        }
    });
}

// shape.fibers producers (even numbers) and as many consumers. With two carriers, a producer and the next consumer have
// different ones, so one pair sends between two carriers, and several pairs have both kinds on each.
inline double contendedQueue(const Shape& shape) {
    sync::BoundedQueue<long> queue(queueCapacity);
    const auto work = [&](int self) {
        for (long i = 0; i < shape.each(); ++i) {
            if (self % 2 == 0) {
                queue.send(i);
            } else {
                keep(*queue.receive());
            }
        }
    };
    return secondsOfFibers(2 * shape.fibers, work, [](int self) { return self / 2 + self % 2; });
}

}  // namespace weft::perf
