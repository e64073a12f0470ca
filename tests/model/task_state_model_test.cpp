// TaskState (docs/explanation/protocol.md section 3): a task completes while its handle's owner joins it, gives up, or
// detaches, and while others hold references. The result is dropped once, the task is freed once and after all uses,
// and a joiner that has given up is not touched.
#include <weft/scheduler/detail/task_state.hpp>

#include "protocol_test.hpp"
#include "thread_task.hpp"

namespace weft::model {
namespace {

using weft::detail::CompletionDuty;
using weft::detail::HandleDuty;

struct Key {
    ThreadTask* task = nullptr;
    std::uint32_t epoch = 0;
};

enum class Defect {
    none,
    forgetsTheKey,      // the joiner does not wait until the completer no longer uses its key
    slotAfterFlag,      // the waiter slot is written after the flag that announces it
    dropsBlindly,       // the handle drops the result whatever the state is
    retiresOnItsStack,  // the run's reference is released before the task has left its stack
    retiresAsTheLast,   // a task that completes late is freed although there are other references
};

struct Totals {
    int dropped = 0;
    int freed = 0;
};

// What fiber.cpp and join_handle.cpp do with a task's state.
template <Defect defect>
class JoinedTask {
  public:
    explicit JoinedTask(Totals& totals, bool joinable = true) : totals_(totals), hadHandle_(joinable) {
        state.initialize(joinable);
    }

    detail::BasicTaskState<Atomics> state;

    // completeFiber(), the switch to another stack, retireFiber()
    void complete() {
        result_ = 42;
        const bool late = state.isDetached();  // [J5]
        if (late) {
            drop();
        } else {
            completeForOthers();
        }
        leaveAndRetire(late);
    }
    // JoinHandleBase::waitAtHome(): joiner and task are fibers of one carrier that take turns. `late`: the joiner's
    // timer ends its wait, and the task ends before the joiner runs.
    void endAndJoinAtHome(ThreadTask& self, bool late) {
        const Epoch epoch = self.prepare();
        assertThat(self.token.commit(epoch), "no other thread wakes the joiner");
        if (late) assertThat(self.wake(epoch, ThreadTask::timeout), "the joiner waits");
        result_ = 42;
        assertThat(self.wake(epoch, ThreadTask::resource) != late, "one ends the wait");  // completeFiber() [J5]
        leaveAndRetire(true);
        assertThat(self.token.finish() == (late ? ThreadTask::timeout : ThreadTask::resource), "why it ended");
        assertThat(state.isComplete(), "the task has ended");
        assertThat(takeResult() == 42, "the result");
        detach();
    }

    // JoinHandleBase::wait(); true when the task has ended.
    bool wait(ThreadTask& self, Timeout limit) {
        if (state.isComplete()) return true;
        const Epoch epoch = self.prepare();
        const Key key{&self, static_cast<std::uint32_t>(epoch)};
        if (defect != Defect::slotAfterFlag) joiner_ = key;
        const bool set = state.setJoinWaiter();
        if (defect == Defect::slotAfterFlag) joiner_ = key;
        if (!set) {
            if (!self.token.abort(epoch)) self.token.finish();  // ~Suspension()
            return true;
        }
        if (self.park(epoch, limit) == ThreadTask::resource) return true;
        if (state.unsetJoinWaiter()) return false;
        if (defect != Defect::forgetsTheKey) {
            await([this] { return joinerTold_.load(std::memory_order_acquire); });  // [J4]
        }
        return true;
    }
    int takeResult() { return result_; }

    // JoinHandleBase::detach()
    void detach() {
        owners_ = 1;
        const HandleDuty duty = state.dropInterest();
        if (duty == HandleDuty::dropResult || defect == Defect::dropsBlindly) drop();
        release();
    }

    void release() {
        if (state.release()) free();
    }

  private:
    void completeForOthers() {
        switch (state.markComplete()) {
            case CompletionDuty::dropResult: drop(); break;
            case CompletionDuty::wakeJoiner: {
                const Key key = joiner_;
                key.task->wake(key.epoch, ThreadTask::resource);
                joinerTold_.store(true, std::memory_order_release);  // [J4]
                break;
            }
            case CompletionDuty::none: break;
        }
    }
    void leaveAndRetire(bool late) {
        if (defect == Defect::retiresOnItsStack) retire(late);
        stack_ = 1;  // the switch itself
        if (defect != Defect::retiresOnItsStack) retire(late);
    }
    void retire(bool late) {
        if (!late) return release();
        if (state.completeAndRelease() || defect == Defect::retiresAsTheLast) free();
    }
    void drop() {
        assertThat(owners_ == 1 || !hadHandle_, "what the handle's owner did");  // [J6]
        result_ = 0;
        ++totals_.dropped;
    }
    void free() {
        ++totals_.freed;
        destroy(*this);
    }

    Totals& totals_;
    Atomic<bool> joinerTold_{false};
    Plain<Key> joiner_{Key{}};
    Plain<int> result_{0};
    Plain<int> stack_{0};
    Plain<int> owners_{0};  // written by the handle's owner before it detaches, read by the result's destructor
    const bool hadHandle_;
};

template <Defect defect>
struct Scenarios {
    using TaskType = JoinedTask<defect>;

    // Joins, with or without a timeout, then releases the handle and ends: its own task no longer exists.
    static Scenario joins(Timeout limit) {
        return [=](ModelRun& run) {
            TaskType& task = begin(run);
            auto& self = run.make<ThreadTask>();
            run.thread("joiner", [&task, &self, limit] {
                if (task.wait(self, limit)) assertThat(task.takeResult() == 42, "the result");
                task.detach();
                destroy(self);
            });
        };
    }
    // Gives up and joins again.
    static void joinsTwice(ModelRun& run) {
        TaskType& task = begin(run);
        auto& self = run.make<ThreadTask>();
        run.thread("joiner", [&task, &self] {
            const bool ended = task.wait(self, Timeout::possible) || task.wait(self, Timeout::never);
            assertThat(ended && task.takeResult() == 42, "the result");
            task.detach();
            destroy(self);
        });
    }
    // Detaches at once, while a third thread cancels and releases its own reference.
    static void detaches(ModelRun& run) {
        TaskType& task = begin(run);
        task.state.addReference();
        run.thread("owner", [&task] { task.detach(); });
        run.thread("canceller", [&task] {
            assertThat(task.state.requestCancel(), "the first to ask");
            task.release();
        });
    }
    // Joins, while a third thread cancels: the task sees it or not; the canceller's reference keeps the task alive.
    static void joinsWhileCancelled(ModelRun& run) {
        TaskType& task = begin(run);
        auto& self = run.make<ThreadTask>();
        task.state.addReference();
        run.thread("joiner", [&task, &self] {
            if (task.wait(self, Timeout::possible)) assertThat(task.takeResult() == 42, "the result");
            task.detach();
            destroy(self);
        });
        run.thread("canceller", [&task] {
            task.state.requestCancel();
            assertThat(task.state.isCancelRequested(), "its own request");
            task.release();
        });
    }

    // Joined by a fiber of its own carrier, while another thread cancels and releases its own reference.
    static Scenario joinsAtHome(bool late) {
        return [=](ModelRun& run) {
            TaskType& task = make(run, true);
            auto& self = run.make<ThreadTask>();
            run.thread("carrier", [&task, &self, late] { task.endAndJoinAtHome(self, late); });
            cancels(run, task);
        };
    }
    // There never was a handle.
    static void isDetached(ModelRun& run) {
        TaskType& task = make(run, false);
        run.thread("completer", [&task] { task.complete(); });
        cancels(run, task);
    }

  private:
    static void cancels(ModelRun& run, TaskType& task) {
        task.state.addReference();
        run.thread("canceller", [&task] {
            task.state.requestCancel();
            task.release();
        });
    }
    static TaskType& begin(ModelRun& run) {
        TaskType& task = make(run, true);
        run.thread("completer", [&task] { task.complete(); });
        return task;
    }
    static TaskType& make(ModelRun& run, bool joinable) {
        auto& totals = run.make<Totals>();
        auto& task = run.make<TaskType>(totals, joinable);
        run.name({"state", "joinerNotified", "joiner.token", "joiner.runnable"});
        run.finally([&totals] {
            assertThat(totals.dropped == 1, "the result is dropped once");
            assertThat(totals.freed == 1, "the task is freed once");
        });
        return task;
    }
};

template <Defect defect = Defect::none>
std::vector<Case> cases() {
    using Built = Scenarios<defect>;
    return {makeCase("joins", Built::joins(Timeout::never)),
            makeCase("joins, timeout", Built::joins(Timeout::possible)),
            makeCase("joins twice", Built::joinsTwice),
            makeCase("detaches", Built::detaches),
            makeCase("joins while cancelled", Built::joinsWhileCancelled),
            makeCase("joins at home", Built::joinsAtHome(false)),
            makeCase("joins at home, late", Built::joinsAtHome(true)),
            makeCase("is detached", Built::isDetached)};
}

constexpr const char* protocol = "task state";

TEST(TaskStateModel, FreedOnceInTheSearchOfThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 600'000});
}
TEST(TaskStateModel, FreedOnceInTheFullSearch) {
    exploreAll(protocol, cases(),
               {.search = Search::full,
                .executions = 1'000'000,
                .seconds = 200,
                .mustEnd = true,
                .unless = {"joins while cancelled"}});
}
TEST(TaskStateModel, FreedOnceAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"task_state setJoinWaiter compare_exchange.success acq_rel->release", "an incomplete task has nothing to acquire"},
    {"task_state unsetJoinWaiter load *", "when the task is complete, J4 acquires what J1 would have"},
    {"task_state unsetJoinWaiter compare_exchange.success *", "nothing is read or written behind it"},
    {"task_state unsetJoinWaiter compare_exchange.failure *",
     "when the task is complete, J4 acquires what J1 would have"},
    {"task_state dropInterest compare_exchange.success acq_rel->release", "there is nothing to acquire"},
    {"task_state requestCancel fetch_or *", "it goes with the wait that it ends [X1]: park_token_model_test"},
    {"task_state isCancelRequested load *", "it goes with the wait that it ends [X1]: park_token_model_test"},
};

TEST(TaskStateModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors, {.files = {"task_state", "task_state_model_test"}});
}

TEST(TaskStateModel, AJoinerThatDoesNotWaitForTheUseOfItsKeyIsTouchedAfterItsEnd) {
    expectKilled("does not wait for joinerNotified", cases<Defect::forgetsTheKey>());
}
TEST(TaskStateModel, ASlotWrittenAfterItsFlagIsReadTooEarly) {
    expectKilled("writes the slot after the flag", cases<Defect::slotAfterFlag>());
}
TEST(TaskStateModel, AHandleThatDropsWithoutACheckDropsTwice) {
    expectKilled("drops whatever the state says", cases<Defect::dropsBlindly>());
}

TEST(TaskStateModel, ATaskThatIsReleasedOnItsOwnStackIsFreedUnderIt) {
    expectKilled("retires on its stack", cases<Defect::retiresOnItsStack>());
}
TEST(TaskStateModel, ATaskThatCompletesLateMayHaveOtherReferences) {
    expectKilled("retires as the last", cases<Defect::retiresAsTheLast>());
}

}  // namespace
}  // namespace weft::model
