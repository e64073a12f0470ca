// The primitives of Weft: fibers, weft::sync without contention, and (weft_contended.hpp) with contention.
#include "weft.hpp"

#include <mutex>

#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/sync/barrier.hpp>
#include <weft/scheduler/sync/broadcast.hpp>
#include <weft/scheduler/sync/condition.hpp>
#include <weft/scheduler/sync/notify.hpp>
#include <weft/scheduler/sync/once_cell.hpp>
#include <weft/scheduler/sync/oneshot.hpp>
#include <weft/scheduler/sync/rw_lock.hpp>
#include <weft/scheduler/sync/select.hpp>
#include <weft/scheduler/sync/unbounded_queue.hpp>
#include <weft/scheduler/sync/wait_group.hpp>
#include <weft/scheduler/sync/watch.hpp>

#include "weft_contended.hpp"

namespace {

using namespace weft;
using namespace weft::perf;

double spawnJoin(const Shape& shape) {
    Carrier& here = *Carrier::home();
    return secondsOfEach(shape, [&] { here.spawn([] {}).join(); });
}

double yield(const Shape& shape) {
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) thisFiber::yield();
    });
}

// Two fibers pass control to each other. An operation is one hand-over: it wakes the other fiber and parks its own.
double parkWake(const Shape& shape) {
    const long rounds = shape.operations / 2;
    WakeKey keys[2];
    return secondsOfFibers(2, [&](int self) {
        while (self == 1 && !keys[0]) thisFiber::yield();
        for (long i = 0; i < rounds; ++i) {
            Suspension wait("parkWake");
            keys[self] = wait.key();
            if (self == 1 || i > 0) keys[1 - self].wake();
            if (self == 0 || i + 1 < rounds) wait.park();
        }
    });
}

double mutex(const Shape& shape) {
    sync::Mutex mutex;
    return secondsOfEach(shape, [&] { std::lock_guard lock(mutex); });
}

double fairMutex(const Shape& shape) {
    sync::FairMutex mutex;
    return secondsOfEach(shape, [&] { std::lock_guard lock(mutex); });
}

double rwRead(const Shape& shape) {
    sync::RwLock lock;
    return secondsOfEach(shape, [&] { std::shared_lock guard(lock); });
}

double rwWrite(const Shape& shape) {
    sync::RwLock lock;
    return secondsOfEach(shape, [&] { std::lock_guard guard(lock); });
}

double semaphore(const Shape& shape) {
    sync::Semaphore semaphore(1);
    return secondsOfEach(shape, [&] {
        semaphore.acquire();
        semaphore.release();
    });
}

// As parkWake(), with a mutex and a condition for each side.
double condition(const Shape& shape) {
    sync::Mutex mutex;
    sync::Condition turned[2];
    int turn = 0;
    return secondsOfFibers(2, [&](int self) {
        for (long i = 0; i < shape.operations / 2; ++i) {
            std::unique_lock lock(mutex);
            turned[self].wait(lock, [&] { return turn == self; });
            turn = 1 - self;
            turned[turn].notifyOne();
        }
    });
}

// As parkWake(), with a Notify for each side.
double notify(const Shape& shape) {
    sync::Notify turned[2];
    turned[0].notifyOne();
    return secondsOfFibers(2, [&](int self) {
        for (long i = 0; i < shape.operations / 2; ++i) {
            turned[self].wait();
            turned[1 - self].notifyOne();
        }
    });
}

double barrier(const Shape& shape) {
    sync::Barrier barrier(static_cast<std::size_t>(shape.fibers));
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) barrier.wait();
    });
}

double onceGet(const Shape& shape) {
    sync::OnceCell<int> cell;
    cell.tryEmplace(1);
    return secondsOfEach(shape, [&] { keep(*cell.get()); });
}

double waitGroup(const Shape& shape) {
    sync::WaitGroup group;
    return secondsOfEach(shape, [&] {
        group.add();
        group.done();
        group.wait();
    });
}

double boundedQueue(const Shape& shape) {
    sync::BoundedQueue<long> queue(queueCapacity);
    return secondsOfEach(shape, [&] {
        queue.send(1);
        keep(*queue.receive());
    });
}

double unboundedQueue(const Shape& shape) {
    sync::UnboundedQueue<long> queue;
    return secondsOfEach(shape, [&] {
        queue.send(1);
        keep(*queue.receive());
    });
}

double oneshot(const Shape& shape) {
    return secondsOfEach(shape, [&] {
        sync::Oneshot<long> oneshot;
        oneshot.send(1);
        keep(oneshot.receive());
    });
}

double broadcast(const Shape& shape) {
    sync::Broadcast<long> broadcast(queueCapacity);
    sync::BroadcastReceiver<long> receiver(broadcast);
    return secondsOfEach(shape, [&] {
        broadcast.send(1);
        keep(receiver.receive());
    });
}

double watch(const Shape& shape) {
    sync::Watch<long> watch(0);
    sync::WatchReader<long> reader(watch);
    return secondsOfEach(shape, [&] {
        watch.send(1);
        keep(reader.next());
    });
}

// Both queues have a value; the handler of the chosen one sends its value back.
double selectOfTwo(const Shape& shape) {
    sync::BoundedQueue<long> first(queueCapacity), second(queueCapacity);
    first.send(1);
    second.send(2);
    return secondsOfEach(shape, [&] {
        sync::select(sync::onReceive(first, [&](std::optional<long> value) { first.send(*value); }),
                     sync::onReceive(second, [&](std::optional<long> value) { second.send(*value); }));
    });
}

const std::vector<Primitive> primitives = {{"spawn_join", spawnJoin},
                                           {"yield", yield},
                                           {"park_wake", parkWake},
                                           {"mutex", mutex},
                                           {"fair_mutex", fairMutex},
                                           {"rw_read", rwRead},
                                           {"rw_write", rwWrite},
                                           {"semaphore", semaphore},
                                           {"condition", condition},
                                           {"notify", notify},
                                           {"barrier", barrier},
                                           {"once_get", onceGet},
                                           {"wait_group", waitGroup},
                                           {"bounded_queue", boundedQueue},
                                           {"unbounded_queue", unboundedQueue},
                                           {"oneshot", oneshot},
                                           {"broadcast", broadcast},
                                           {"watch", watch},
                                           {"select", selectOfTwo},
                                           {"contended_mutex", contendedMutex<sync::Mutex>},
                                           {"contended_fair_mutex", contendedMutex<sync::FairMutex>},
                                           {"contended_semaphore", contendedSemaphore},
                                           {"contended_queue", contendedQueue}};

}  // namespace

int main(int argc, char** argv) {
    return measurePrimitives(argc, argv, primitives, [](unsigned count, auto body) { onCarriers(count, body); });
}
