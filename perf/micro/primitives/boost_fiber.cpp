// The same primitives with Boost.Fiber, which has a mutex, a condition, a barrier, channels and futures.
//   One carrier: the default scheduler (round_robin) of one thread.
//   Two: work_stealing on two threads with its default, to spin while there is nothing to run. The alternative,
//   suspend = true, is no comparison: no fiber that becomes ready on one thread wakes the other one, so all of them
//   stay on the main thread. shared_work has one locked queue for both threads.
#include <barrier>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/all.hpp>

#include "primitives.hpp"

namespace {

using namespace weft::perf;
namespace fibers = boost::fibers;

constexpr std::size_t queueCapacity = 64;

// With one thread, fibers get their stacks from a pool, as in Weft. Boost's pool is not safe for a second thread, and a
// stack returns to it on the thread that ends the fiber: with two threads each stack is allocated.
class Stacks {
  public:
    explicit Stacks(unsigned carriers) {
        if (carriers == 1) pool_.emplace();
    }
    template <class F>
    fibers::fiber spawn(F&& function) {
        if (pool_) return fibers::fiber(std::allocator_arg, *pool_, std::forward<F>(function));
        return fibers::fiber(std::forward<F>(function));
    }

  private:
    std::optional<fibers::pooled_fixedsize_stack> pool_;
};

Stacks* stacks = nullptr;

// Runs `body` on the main thread, whose main fiber it becomes, with `carriers` - 1 threads that steal from it.
template <class Body>
void onThreads(unsigned carriers, Body body) {
    Stacks own(carriers);
    stacks = &own;
    if (carriers == 1) return body();
    fibers::mutex mutex;
    fibers::condition_variable ended;
    bool end = false;
    std::barrier registered(2);  // a scheduler that steals must find the other one
    std::thread helper([&] {
        fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(2);
        registered.arrive_and_wait();
        std::unique_lock lock(mutex);
        ended.wait(lock, [&] { return end; });
    });
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(2);
    registered.arrive_and_wait();
    body();
    {
        std::lock_guard lock(mutex);
        end = true;
    }
    ended.notify_all();
    helper.join();
}

template <class Body>
double secondsOfFibers(int count, Body body) {
    return secondsOf([&] {
        std::vector<fibers::fiber> all;
        for (int i = 0; i < count; ++i) all.push_back(stacks->spawn([&body, i] { body(i); }));
        for (auto& fiber : all) fiber.join();
    });
}

template <class Operation>
double secondsOfEach(const Shape& shape, Operation operation) {
    return secondsOf([&] {
        for (long i = 0; i < shape.operations; ++i) operation();
    });
}

double spawnJoin(const Shape& shape) {
    return secondsOfEach(shape, [] { stacks->spawn([] {}).join(); });
}

double yield(const Shape& shape) {
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) boost::this_fiber::yield();
    });
}

// The calls on which Boost.Fiber builds its own primitives: schedule() and suspend() of the fiber's context.
double parkWake(const Shape& shape) {
    const long rounds = shape.operations / 2;
    fibers::context* parked[2] = {};
    return secondsOfFibers(2, [&](int self) {
        fibers::context* own = fibers::context::active();
        while (self == 1 && parked[0] == nullptr) boost::this_fiber::yield();
        parked[self] = own;
        for (long i = 0; i < rounds; ++i) {
            if (self == 1 || i > 0) own->schedule(parked[1 - self]);
            if (self == 0 || i + 1 < rounds) own->suspend();
        }
    });
}

double mutex(const Shape& shape) {
    fibers::mutex mutex;
    return secondsOfEach(shape, [&] { std::lock_guard lock(mutex); });
}

double condition(const Shape& shape) {
    fibers::mutex mutex;
    fibers::condition_variable turned[2];
    int turn = 0;
    return secondsOfFibers(2, [&](int self) {
        for (long i = 0; i < shape.operations / 2; ++i) {
            std::unique_lock lock(mutex);
            turned[self].wait(lock, [&] { return turn == self; });
            turn = 1 - self;
            turned[turn].notify_one();
        }
    });
}

double barrier(const Shape& shape) {
    fibers::barrier barrier(static_cast<std::size_t>(shape.fibers));
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) barrier.wait();
    });
}

double boundedQueue(const Shape& shape) {
    fibers::buffered_channel<long> queue(queueCapacity);
    return secondsOfEach(shape, [&] {
        queue.push(1);
        keep(queue.value_pop());
    });
}

// A promise and its future, which share an allocated state.
double oneshot(const Shape& shape) {
    return secondsOfEach(shape, [&] {
        fibers::promise<long> promise;
        fibers::future<long> future = promise.get_future();
        promise.set_value(1);
        keep(future.get());
    });
}

double contendedMutex(const Shape& shape) {
    fibers::mutex mutex;
    long count = 0;
    return secondsOfFibers(shape.fibers, [&](int) {
        for (long i = 0; i < shape.each(); ++i) {
            std::lock_guard lock(mutex);
            keep(++count);
            if (shape.yields) boost::this_fiber::yield();
        }
    });
}

double contendedQueue(const Shape& shape) {
    fibers::buffered_channel<long> queue(queueCapacity);
    return secondsOfFibers(2 * shape.fibers, [&](int self) {
        for (long i = 0; i < shape.each(); ++i) {
            if (self % 2 == 0) {
                queue.push(i);
            } else {
                keep(queue.value_pop());
            }
        }
    });
}

const std::vector<Primitive> primitives = {{"spawn_join", spawnJoin},
                                           {"yield", yield},
                                           {"park_wake", parkWake},
                                           {"mutex", mutex},
                                           {"condition", condition},
                                           {"barrier", barrier},
                                           {"bounded_queue", boundedQueue},
                                           {"oneshot", oneshot},
                                           {"contended_mutex", contendedMutex},
                                           {"contended_queue", contendedQueue}};

}  // namespace

int main(int argc, char** argv) {
    return measurePrimitives(argc, argv, primitives, [](unsigned count, auto body) { onThreads(count, body); });
}
