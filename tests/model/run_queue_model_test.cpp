// In-tray and run queue (docs/explanation/protocol.md section 4), with a ring of two: no task is lost or comes twice,
// each producer's tasks keep their order, and no task is accepted after a close. The stealable queue promises the same
// without thieves; stealing_model_test.cpp has the thieves.
#include <weft/scheduler/detail/run_queue.hpp>
#include <weft/scheduler/detail/stealable_queue.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

struct Task {
    Link<Task> next;
    Plain<int> number{0};  // producer * 10 + position, written by the producer
};

using ShippedTray = detail::BasicInTray<Atomics, Task>;
using ShippedQueue = detail::BasicRunQueue<Atomics, Task, 2>;
using StealableQueue = detail::BasicStealableQueue<Atomics, Task, 2>;

// The tasks that the owner has got, in order.
struct Got {
    int last[3] = {};
    int count = 0;

    void take(Task& task) {
        const int number = task.number;
        const int producer = number / 10;
        assertThat(producer == 1 || producer == 2, "each task comes once");
        assertThat(number % 10 == last[producer] + 1, "the tasks of a producer keep their order");
        last[producer] = number % 10;
        task.number = 0;
        ++count;
    }
};

struct Producer {
    std::array<Task, 2> tasks;
    int submitted = 0;

    template <class Submit>
    void run(int producer, int count, Submit submit) {
        for (int i = 0; i < count; ++i) {
            tasks[static_cast<std::size_t>(i)].number = producer * 10 + i + 1;
            if (!submit(tasks[static_cast<std::size_t>(i)])) return;
            ++submitted;
        }
    }
};

// Two producers, and an owner that takes tasks until all have come.
template <class Queue>
void producersAndOwner(ModelRun& run) {
    struct State {
        Queue queue;
        Producer producers[2];
        Got got;
    };
    auto& state = run.make<State>();
    run.name({"tray"});
    for (const int producer : {1, 2}) {
        run.thread(producer == 1 ? "producer1" : "producer2", [&state, producer] {
            state.producers[producer - 1].run(producer, 2, [&](Task& task) { return state.queue.submit(task); });
        });
    }
    run.thread("owner", [&state] {
        while (state.got.count < 4) {
            await([&state] { return !state.queue.empty(); });
            state.queue.takeSubmitted();
            while (Task* task = state.queue.pop()) state.got.take(*task);
        }
        assertThat(state.queue.empty() && state.queue.depth() == 0, "nothing is left");
    });
}

// The owner runs one task at a time and queues it again once: ring, batch and tray in turn.
template <class Queue>
void requeuingOwner(ModelRun& run) {
    struct State {
        Queue queue;
        Producer producers[2];
        std::array<Task, 2> own;
        int ran = 0;
    };
    auto& state = run.make<State>();
    run.name({"tray"});
    run.thread("producer1",
               [&state] { state.producers[0].run(1, 2, [&](Task& task) { return state.queue.submit(task); }); });
    run.thread("producer2",
               [&state] { state.producers[1].run(2, 1, [&](Task& task) { return state.queue.submit(task); }); });
    run.thread("owner", [&state] {
        for (Task& task : state.own) task.number = 5, state.queue.push(task);
        while (state.ran < 8) {
            await([&state] { return !state.queue.empty(); });
            state.queue.takeSubmitted();
            Task* task = state.queue.pop();
            assertThat(task != nullptr && task->number != 0, "each task comes as often as it was queued");
            ++state.ran;
            const bool again = task->number == 5;
            task->number = again ? 6 : 0;
            if (again) state.queue.push(*task);
            if (state.ran == 7) break;
        }
        assertThat(state.queue.empty() && state.queue.depth() == 0, "nothing is left");
    });
}

// Producers race with a close: a task either comes out or is refused.
template <class Tray>
void closing(ModelRun& run) {
    struct State {
        Tray tray;
        Producer producers[2];
        Got got;
    };
    auto& state = run.make<State>();
    run.name({"tray"});
    for (const int producer : {1, 2}) {
        run.thread(producer == 1 ? "producer1" : "producer2", [&state, producer] {
            state.producers[producer - 1].run(producer, 3 - producer,
                                              [&](Task& task) { return state.tray.push(task); });
        });
    }
    run.thread("owner", [&state] {
        while (!state.tray.closeIfEmpty()) {
            for (Task* task = state.tray.takeAll(); task != nullptr;) {
                Task* next = task->next;
                state.got.take(*task);
                task = next;
            }
        }
        assertThat(state.tray.empty() && state.tray.takeAll() == nullptr, "a closed tray is empty");
    });
    run.finally([&state] {
        const int accepted = state.producers[0].submitted + state.producers[1].submitted;
        assertThat(state.got.count == accepted, "what was accepted has come out");
        Task late;
        assertThat(!state.tray.push(late), "a closed tray stays closed");
    });
}

std::vector<Case> cases() {
    return {makeCase("producers and owner", producersAndOwner<ShippedQueue>),
            makeCase("requeuing owner", requeuingOwner<ShippedQueue>), makeCase("closing", closing<ShippedTray>)};
}
std::vector<Case> stealableCases() {
    return {makeCase("producers and owner, stealable", producersAndOwner<StealableQueue>),
            makeCase("requeuing owner, stealable", requeuingOwner<StealableQueue>)};
}

constexpr const char* protocol = "run queue";

TEST(RunQueueModel, NothingIsLostInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 600'000});
}
TEST(RunQueueModel, NothingIsLostInTheFullSearch) {
    exploreAll(protocol, cases(), {.search = Search::full, .executions = 200'000});
}
TEST(RunQueueModel, NothingIsLostAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

TEST(RunQueueModel, AStealableQueueKeepsTheOrderWhileNobodySteals) {
    exploreAll(protocol, stealableCases(), {.preemptions = 2, .executions = 100'000});
    exploreAll(protocol, stealableCases(), {.search = Search::random, .executions = 20'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"in_tray push compare_exchange.success seq_cst->release", "seq_cst is for K1, which park_model_test proves"},
    {"in_tray push compare_exchange.success seq_cst->acq_rel", "seq_cst is for K1, which park_model_test proves"},
    {"in_tray empty load *", "seq_cst is for K3, which park_model_test proves; here it is a hint"},
    {"in_tray closeIfEmpty compare_exchange.success *", "the mark carries nothing, and null was the owner's own store"},
};

TEST(RunQueueModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors, {.files = {"in_tray"}});
}

enum class Defect { none, popsOneByOne, takesByStore, pushesByStore, closesByStore };

// A copy of the tray in which one thing can be wrong.
template <Defect defect>
class TwinTray {
  public:
    bool push(Task& task) {
        Task* top = top_.load(std::memory_order_relaxed);
        do {
            if (top == closedMark()) return false;
            task.next = top;
            if (defect == Defect::pushesByStore) return top_.store(&task, std::memory_order_seq_cst), true;
        } while (!top_.compare_exchange_weak(top, &task, std::memory_order_seq_cst, std::memory_order_relaxed));
        return true;
    }
    Task* takeAll() {
        Task* top = top_.load(std::memory_order_acquire);
        if (top == nullptr || top == closedMark()) return nullptr;
        if (defect == Defect::popsOneByOne) return popAll();
        if (defect == Defect::takesByStore) {
            top_.store(nullptr, std::memory_order_seq_cst);
            return reversed(top);
        }
        return reversed(top_.exchange(nullptr, std::memory_order_acquire));
    }
    bool empty() const {
        Task* top = top_.load(std::memory_order_seq_cst);
        return top == nullptr || top == closedMark();
    }
    bool closeIfEmpty() {
        if (defect == Defect::closesByStore) {
            if (!empty()) return false;
            top_.store(closedMark(), std::memory_order_seq_cst);
            return true;
        }
        Task* expected = nullptr;
        return top_.compare_exchange_strong(expected, closedMark(), std::memory_order_acq_rel,
                                            std::memory_order_relaxed) ||
               expected == closedMark();
    }

  private:
    // One compare-exchange each: another taker could interfere, and the order is wrong.
    Task* popAll() {
        Task* oldest = nullptr;
        Task** end = &oldest;
        Task* top = top_.load(std::memory_order_acquire);
        while (top != nullptr) {
            if (!top_.compare_exchange_weak(top, top->next, std::memory_order_acq_rel, std::memory_order_acquire)) {
                continue;
            }
            *end = top;
            end = &static_cast<Task*&>(top->next);
            top = top_.load(std::memory_order_acquire);
        }
        *end = nullptr;
        return oldest;
    }
    static Task* reversed(Task* top) {
        Task* oldest = nullptr;
        while (top != nullptr) {
            Task* below = top->next;
            top->next = oldest;
            oldest = top;
            top = below;
        }
        return oldest;
    }
    Task* closedMark() const { return reinterpret_cast<Task*>(const_cast<TwinTray*>(this)); }

    Atomic<Task*> top_{nullptr};
};

template <Defect defect>
std::vector<Case> broken() {
    return {makeCase("closing", closing<TwinTray<defect>>)};
}

TEST(RunQueueModel, TheTwinWithoutADefectPasses) {
    exploreAll("run queue (twin)", broken<Defect::none>(), {});
}
TEST(RunQueueModel, ATrayThatIsEmptiedOneByOneLosesTheOrder) {
    expectKilled("pops one by one", broken<Defect::popsOneByOne>());
}
TEST(RunQueueModel, ATrayThatIsEmptiedByAStoreLosesTasks) {
    expectKilled("takes by store", broken<Defect::takesByStore>());
}
TEST(RunQueueModel, APushByStoreLosesTasks) {
    expectKilled("pushes by store", broken<Defect::pushesByStore>());
}
TEST(RunQueueModel, ACloseByStoreLosesTasks) {
    expectKilled("closes by store", broken<Defect::closesByStore>());
}

}  // namespace
}  // namespace weft::model
