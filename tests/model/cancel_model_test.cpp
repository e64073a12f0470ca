// CancelList and CancelFrame (docs/explanation/protocol.md section 22): a call is made once and not after its removal,
// no cancellation of a scope is lost, whichever scope inside it is left meanwhile, and none outlives its scope.
#include <weft/scheduler/detail/cancel_frame.hpp>
#include <weft/scheduler/detail/cancel_list.hpp>
#include <weft/scheduler/detail/interrupt_mask.hpp>
#include <weft/scheduler/detail/task_state.hpp>

#include <array>
#include <utility>

#include "protocol_test.hpp"
#include "thread_task.hpp"

namespace weft::model {
namespace {

struct YieldingPause {
    void operator()() const { yield(); }
};
using CallList = detail::BasicCancelList<Atomics, YieldingPause>;
using CallNode = detail::BasicCancelNode<Atomics>;

constexpr std::uint64_t owner = 1;
constexpr std::uint64_t canceller = 2;
constexpr std::uint64_t otherCanceller = 3;

void cancelList(CallList& list, std::uint64_t caller) {
    (void)list.cancel(caller, [] {});
}

// --- the list

struct Callback : CallNode {
    Callback() : CallNode(&Callback::call) {}
    static void call(CallNode& self, std::uint64_t) noexcept {
        auto& callback = static_cast<Callback&>(self);
        callback.calls = callback.calls + 1;
    }
    Plain<int> calls{0};
};

template <class List>
struct ListWorld {
    List list;
    std::array<Callback*, 2> callbacks{};
    Plain<int> data{0};
    int cancelled = 0;
};

template <class List = CallList>
struct ListScenarios {
    using World = ListWorld<List>;
    static World& make(ModelRun& run) {
        auto& world = run.make<World>();
        for (auto*& callback : world.callbacks) callback = &run.make<Callback>();
        return world;
    }
    static void cancel(World& world, std::uint64_t caller) {
        if (world.list.cancel(caller, [] {})) ++world.cancelled;
    }

    // Two callbacks are removed and destroyed while the list is cancelled.
    static void removes(ModelRun& run) {
        World& world = make(run);
        run.thread("owner", [&world] {
            const bool second = world.list.add(*world.callbacks[1]);
            if (world.list.add(*world.callbacks[0])) world.list.remove(*world.callbacks[0], owner);
            assertThat(world.callbacks[0]->calls <= 1, "it is called once at most");
            destroy(*world.callbacks[0]);
            if (second) world.list.remove(*world.callbacks[1], owner);
            destroy(*world.callbacks[1]);
        });
        run.thread("canceller", [&world] { cancel(world, canceller); });
    }
    // One canceller of two makes the call; a thread that sees the cancellation sees what came before it.
    static void cancelsTwice(ModelRun& run) {
        World& world = make(run);
        assertThat(world.list.add(*world.callbacks[0]), "added");
        run.thread("canceller", [&world] {
            world.data = 1;
            cancel(world, canceller);
        });
        run.thread("other", [&world] { cancel(world, otherCanceller); });
        run.finally([&world] {
            assertThat(world.cancelled == 1 && world.callbacks[0]->calls == 1, "one cancellation, one call");
        });
    }
    static void observes(ModelRun& run) {
        World& world = make(run);
        run.thread("canceller", [&world] {
            world.data = 1;
            cancel(world, canceller);
        });
        run.thread("observer", [&world] {
            if (world.list.cancelled()) assertThat(world.data == 1, "what came before");
            if (!world.list.add(*world.callbacks[0])) assertThat(world.data == 1, "what came before");
        });
    }
    static std::vector<Case> cases() {
        return {makeCase("removes", removes), makeCase("cancels twice", cancelsTwice), makeCase("observes", observes)};
    }
};

// --- frames

// A thread with the parts of a task that a frame uses: waits as detail::ThreadTask of src/thread_task.cpp does.
struct FrameTask {
    static constexpr Branch cancelled = 9;

    // Waits until a cancellation ends the wait: a deadlock otherwise.
    void waitForCancellation() {
        const Epoch epoch = token.prepare();
        if (token.commit(epoch)) {
            if (state.isInterruptRequested() && !mask.holdsOffCancellation()) {
                if (token.claim(epoch, cancelled) == detail::Claim::lost) block();
            } else {
                block();
            }
        }
        assertThat(token.finish() == cancelled, "cancelled");
    }
    void enqueue() {
        runnable.store(1, std::memory_order_release);  // [P1]
        futexWake(runnable);
    }
    void block() {
        while (runnable.load(std::memory_order_acquire) == 0) (void)futexWait(runnable, 0, Timeout::never);  // [P1]
        runnable.store(0, std::memory_order_relaxed);
    }

    ParkToken token;
    detail::BasicTaskState<Atomics> state;
    detail::BasicInterruptMask<Atomics> mask;
    Atomic<std::uint32_t> runnable{0};
};

enum class FrameDefect {
    none,
    interruptsFirst,  // reads the park word before it sets the flag
    forgetsTheOuter,  // leaving a scope takes back the flag of the scope around it
    keepsTheFlag,     // leaving a scope does not take its flag back
};

// detail::FrameTarget of the model, with a defect.
template <FrameDefect defect>
struct Target {
    void requestScopeCancel() const {
        if (defect == FrameDefect::interruptsFirst) return;
        if (defect == FrameDefect::forgetsTheOuter && leaves(false)) return;
        task->state.requestScopeCancel();
    }
    void withdrawScopeCancel() const {
        if (defect == FrameDefect::keepsTheFlag) return;
        leaves(true);
        task->state.withdrawScopeCancel();
    }
    const Target& state() const { return *this; }
    void interrupt() const {
        const Epoch epoch = task->mask.cancellableEpoch(task->token);
        if (epoch != 0 && task->token.claim(epoch, FrameTask::cancelled) == detail::Claim::enqueue) task->enqueue();
        if (defect == FrameDefect::interruptsFirst) task->state.requestScopeCancel();
    }
    // Whether the calling thread has begun to leave a frame.
    static bool leaves(bool begins) {
        static std::array<bool, maxThreads> threads{};
        bool& its = threads[Execution::current().self()];
        return std::exchange(its, begins);
    }
    FrameTask* task;
};

template <FrameDefect defect>
struct FrameScenarios {
    using Frame = detail::BasicCancelFrame<Atomics, Target<defect>, YieldingPause>;

    // A CancelScope: a frame that a list cancels.
    struct Scope : CallNode {
        Scope(FrameTask& task, Frame* outer, CallList& its)
            : CallNode(&Scope::call), frame(Target<defect>{&task}, outer, owner), list(its) {
            attached = list.add(*this);
            if (!attached) frame.cancel(owner);
        }
        void leave() {
            if (attached) list.remove(*this, owner);
            frame.leave(owner);
        }
        static void call(CallNode& self, std::uint64_t caller) noexcept {
            static_cast<Scope&>(self).frame.cancel(caller);
        }
        Frame frame;
        CallList& list;
        bool attached;
    };
    struct World {
        FrameTask task;
        CallList outer;
        CallList inner;
    };

    // A task waits in a scope that is cancelled; afterwards it is not cancelled.
    static void endsTheWait(ModelRun& run) {
        World& world = run.make<World>();
        run.thread("owner", [&world] {
            Scope scope(world.task, nullptr, world.outer);
            world.task.waitForCancellation();
            assertThat(scope.frame.cancelled(), "the scope is cancelled");
            world.task.waitForCancellation();
            scope.leave();
            assertThat(!world.task.state.isInterruptRequested(), "left");
        });
        run.thread("canceller", [&world] { cancelList(world.outer, canceller); });
    }
    // A scope inside is left before the wait.
    static void leavesTheInner(ModelRun& run) {
        World& world = run.make<World>();
        run.thread("owner", [&world] {
            Scope outer(world.task, nullptr, world.outer);
            {
                Scope inner(world.task, &outer.frame, world.inner);
                inner.leave();
            }
            world.task.waitForCancellation();
            outer.leave();
            assertThat(!world.task.state.isInterruptRequested(), "left");
        });
        run.thread("canceller", [&world] { cancelList(world.outer, canceller); });
    }
    // As before; the scope inside is cancelled, too.
    static void cancelsBoth(ModelRun& run) {
        World& world = run.make<World>();
        run.thread("owner", [&world] {
            Scope outer(world.task, nullptr, world.outer);
            {
                Scope inner(world.task, &outer.frame, world.inner);
                inner.leave();
            }
            world.task.waitForCancellation();
            outer.leave();
        });
        run.thread("canceller", [&world] { cancelList(world.outer, canceller); });
        run.thread("other", [&world] { cancelList(world.inner, otherCanceller); });
    }
    // Only the scope inside is cancelled, while it is left.
    static void cancelsTheInner(ModelRun& run) {
        World& world = run.make<World>();
        run.thread("owner", [&world] {
            Scope outer(world.task, nullptr, world.outer);
            {
                Scope inner(world.task, &outer.frame, world.inner);
                inner.leave();
            }
            assertThat(!world.task.state.isInterruptRequested(), "left");
            outer.leave();
        });
        run.thread("canceller", [&world] { cancelList(world.inner, canceller); });
    }
    static std::vector<Case> cases() {
        return {makeCase("ends the wait", endsTheWait), makeCase("leaves the inner", leavesTheInner),
                makeCase("cancels both", cancelsBoth), makeCase("cancels the inner", cancelsTheInner)};
    }
};

std::vector<Case> listCases() {
    return ListScenarios<>::cases();
}
std::vector<Case> frameCases() {
    return FrameScenarios<FrameDefect::none>::cases();
}

TEST(CancelModel, ACallIsMadeOnceAndNotAfterItsRemoval) {
    exploreAll("cancel list", listCases(), {.preemptions = 3, .executions = 100'000, .mustEnd = true});
}
TEST(CancelModel, NoCancellationOfAScopeIsLostAndNoneOutlivesIt) {
    exploreAll("cancel frame", frameCases(),
               {.preemptions = 2, .executions = 200'000, .seconds = 100, .mustEnd = true});
}
TEST(CancelModel, NothingIsLostAtRandom) {
    for (const auto search : {Search::random, Search::pct}) {
        exploreAll("cancel list", listCases(), {.search = search, .executions = 5'000});
        exploreAll("cancel frame", frameCases(), {.search = search, .executions = 5'000});
    }
}

// --- twins

TEST(CancelModel, EveryOrderOfAListIsNeeded) {
    expectOrdersNeeded("cancel list", listCases(), {}, {.random = 5'000, .pct = 5'000, .files = {"cancel_list"}});
}

TEST(CancelModel, EveryOrderOfTheScopesFlagIsNeeded) {
    expectOrdersNeeded("cancel frame", frameCases(), {},
                       {.random = 5'000, .pct = 5'000, .depthFirst = 20'000, .files = {"task_state"}});
}

// A removal that does not wait for the call.
struct DoesNotWait : CallList {
    void remove(CallNode& node, std::uint64_t) { CallList::remove(node, canceller); }
};
TEST(CancelModel, ARemovalThatDoesNotWaitForTheCallDestroysItsNodeTooEarly) {
    expectKilled("does not wait", only("removes", ListScenarios<DoesNotWait>::cases()));
}

template <FrameDefect defect>
void expectKilledFrame(const char* name, const char* where) {
    expectKilled(name, only(where, FrameScenarios<defect>::cases()));
}
TEST(CancelModel, ACancellationThatReadsTheParkWordFirstIsLost) {
    expectKilledFrame<FrameDefect::interruptsFirst>("interrupts first", "ends the wait");
}
TEST(CancelModel, ALeftScopeMustNotTakeBackTheFlagOfTheOuterOne) {
    expectKilledFrame<FrameDefect::forgetsTheOuter>("forgets the outer", "leaves the inner");
}
TEST(CancelModel, ALeftScopeMustTakeBackItsFlag) {
    expectKilledFrame<FrameDefect::keepsTheFlag>("keeps the flag", "cancels the inner");
}

}  // namespace
}  // namespace weft::model
