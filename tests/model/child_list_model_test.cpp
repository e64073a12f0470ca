// ChildList (docs/protocol.md section 14): children that end on other threads, a parent that waits for them and then
// ends the scope, and somebody who cancels them. The scope is not touched after its end, each child is cancelled once
// and freed once, and the parent finds what its children wrote.
#include <weft/scheduler/detail/child_list.hpp>
#include <weft/scheduler/detail/task_state.hpp>
#include <weft/scheduler/wait_list.hpp>

#include "protocol_test.hpp"
#include "thread_wait.hpp"

namespace weft::model {
namespace {

enum class Defect {
    none,
    wakesOutside,    // the last child claims the parent's wait after it has released the lock
    findsItBlindly,  // the parent looks at the size without the lock
    cancelsBlindly,  // the canceller takes no references
    addsBlindly,     // a child of a cancelled scope is not told
    forgetsToWake,   // the last child leaves quietly
    interruptible,   // the parent's wait may end before the last child has left
};

struct Child {
    Link<Child> previousSibling;
    Link<Child> nextSibling;
    Link<Child> nextCancelled;
    detail::BasicTaskState<Atomics> state;
    int* freed = nullptr;  // the spectator's
    int cancelled = 0;

    void release() {
        if (!state.release()) return;
        ++*freed;
        destroy(*this);
    }
};

using Waiters = BasicWaitList<ThreadWait>;
using Shipped = detail::BasicChildList<Atomics, Child, Waiters>;

// The list, written again so that one thing can be wrong with it.
template <Defect defect>
class TwinList {
  public:
    bool add(Child& child) {
        std::lock_guard held(lock_);
        child.previousSibling = nullptr;
        child.nextSibling = first_;
        if (first_) first_->previousSibling = &child;
        first_ = &child;
        size_ = size_ + 1;
        return defect != Defect::addsBlindly && cancelled_;
    }
    void remove(Child& child) {
        Waiters::Woken woken;
        bool last = false;
        {
            std::lock_guard held(lock_);
            Child* const previous = child.previousSibling;
            Child* const next = child.nextSibling;
            if (previous) {
                previous->nextSibling = next;
            } else {
                first_ = next;
            }
            if (next) next->previousSibling = previous;
            size_ = size_ - 1;
            last = size_ == 0 && defect != Defect::forgetsToWake;
            if (last && defect != Defect::wakesOutside) woken = waiters_.claimAll();
        }
        if (last && defect == Defect::wakesOutside) woken = waiters_.claimAll();
        woken.resume();
    }
    template <class Retain, class Cancel>
    void cancelAll(Retain retain, Cancel cancel) {
        Child* pending = nullptr;
        {
            std::lock_guard held(lock_);
            if (std::exchange(cancelled_, true)) return;
            for (Child* child = first_; child != nullptr; child = child->nextSibling) {
                if (defect != Defect::cancelsBlindly) retain(*child);
                child->nextCancelled = pending;
                pending = child;
            }
        }
        while (pending != nullptr) {
            Child& child = *pending;
            pending = child.nextCancelled;
            if (defect == Defect::cancelsBlindly) retain(child);
            cancel(child);
        }
    }
    ErrorCode wait(Timeout limit, const char* call) {
        return waiters_.waitUntil(lock_, limit, call, [this] { return size_ == 0; });
    }
    void waitUninterruptibly(const char* call) {
        if (defect == Defect::findsItBlindly && size_ == 0) return;
        if (defect == Defect::interruptible) return static_cast<void>(wait(Timeout::possible, call));
        waiters_.waitUninterruptibly(lock_, call, [this] { return size_ == 0; });
    }

  private:
    mutable Mutex lock_;
    Child* first_ = nullptr;
    Plain<unsigned> size_{0u};
    bool cancelled_ = false;
    Waiters waiters_;
};

// A scope, its parent and two children with what they write.
template <class List>
struct Family {
    struct Scope {
        List list;
        std::array<Plain<int>, 3> written;
    };
    Scope* scope = nullptr;
    ThreadTask parent;
    int freed = 0;

    void adopt(Child& child) {
        child.state.initialize(false);
        child.freed = &freed;
        if (scope->list.add(child)) child.state.requestCancel();
    }
    // completeFiber()
    void end(Child& child, std::size_t which) {
        scope->written[which] = 1;
        scope->list.remove(child);
        child.release();
    }
    // TaskScope::cancel()
    void cancel() {
        scope->list.cancelAll([](Child& child) { child.state.addReference(); },
                              [](Child& child) {
                                  ++child.cancelled;
                                  child.state.requestCancel();
                                  child.release();
                              });
    }
    // ~TaskScope()
    void leave(std::initializer_list<std::size_t> written) {
        scope->list.waitUninterruptibly("leave");
        for (const std::size_t which : written) assertThat(scope->written[which] == 1, "what a child wrote");
        destroy(*scope);
    }
};

template <class List>
struct Scenarios {
    using FamilyType = Family<List>;

    // The parent waits for two children, first with a timeout if `impatient`; then the scope is gone.
    static Scenario awaits(bool impatient) {
        return [=](ModelRun& run) {
            FamilyType& family = make(run);
            addChild(run, family, 0);
            addChild(run, family, 1);
            run.thread("parent", [&family, impatient] {
                ThreadWait::use(family.parent);
                if (impatient) (void)family.scope->list.wait(Timeout::possible, "join");
                family.leave({0, 1});
            });
            run.finally([&family] { assertThat(family.freed == 2, "each child is freed once"); });
        };
    }
    // ... which it cancels before.
    static void cancels(ModelRun& run) {
        FamilyType& family = make(run);
        addChild(run, family, 0);
        addChild(run, family, 1);
        run.thread("parent", [&family] {
            ThreadWait::use(family.parent);
            family.cancel();
            family.leave({0, 1});
        });
        run.finally([&family] { assertThat(family.freed == 2, "each child is freed once"); });
    }
    // A child starts another one while the parent cancels them.
    static void spawnsASibling(ModelRun& run) {
        FamilyType& family = make(run);
        auto& first = run.make<Child>();
        auto& second = run.make<Child>();
        family.adopt(first);
        run.thread("children", [&family, &first, &second] {
            family.adopt(second);
            family.end(first, 0);
            await([&second] { return second.state.isCancelRequested(); });
            family.end(second, 1);
        });
        run.thread("parent", [&family] {
            ThreadWait::use(family.parent);
            family.cancel();
            family.leave({0, 1});
        });
        run.finally([&family] { assertThat(family.freed == 2, "each child is freed once"); });
    }
    // One child fails and cancels the other one and itself, as a third thread does.
    static void fails(ModelRun& run) {
        FamilyType& family = make(run);
        auto& failing = run.make<Child>();
        family.adopt(failing);
        run.thread("failing", [&family, &failing] {
            family.cancel();
            family.end(failing, 0);
        });
        addChild(run, family, 1);
        run.thread("parent", [&family] {
            ThreadWait::use(family.parent);
            family.leave({0, 1});
        });
        run.finally([&family] { assertThat(family.freed == 2, "each child is freed once"); });
    }

  private:
    static FamilyType& make(ModelRun& run) {
        auto& family = run.make<FamilyType>();
        family.scope = &run.make<typename FamilyType::Scope>();
        return family;
    }
    static void addChild(ModelRun& run, FamilyType& family, std::size_t which) {
        static constexpr const char* names[] = {"child0", "child1"};
        auto& child = run.make<Child>();
        family.adopt(child);
        run.thread(names[which], [&family, &child, which] { family.end(child, which); });
    }
};

template <class List = Shipped>
std::vector<Case> cases() {
    using Built = Scenarios<List>;
    return {makeCase("awaits", Built::awaits(false)), makeCase("awaits, impatient", Built::awaits(true)),
            makeCase("cancels", Built::cancels), makeCase("spawns a sibling", Built::spawnsASibling),
            makeCase("fails", Built::fails)};
}

constexpr const char* protocol = "child list";

TEST(ChildListModel, NoChildOutlivesItsScopeWithinThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000});
}
TEST(ChildListModel, NoChildOutlivesItsScopeAsFarAsIsSearchedInFull) {
    exploreAll(protocol, cases(), {.search = Search::full, .executions = 100'000});
}
TEST(ChildListModel, NoChildOutlivesItsScopeAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

// --- twins

// The lock orders the list; what is atomic is the children's counts of references.
TEST(ChildListModel, AReferenceThatIsGivenBackWithoutAnOrderFreesAChildTooEarly) {
    expectKilledTogether(only("cancels", cases()), {"task_state release fetch_sub acq_rel->relaxed"});
}

template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<TwinList<defect>>()));
}

TEST(ChildListModel, TheTwinWithoutADefectPasses) {
    exploreAll("child list (twin)", cases<TwinList<Defect::none>>(), {.executions = 50'000});
}
TEST(ChildListModel, AChildThatClaimsAfterTheUnlockTouchesAScopeThatIsGone) {
    expectKilledIn<Defect::wakesOutside>("wakes outside", "awaits, impatient");
}
TEST(ChildListModel, AParentThatLooksWithoutTheLockLeavesTooEarly) {
    expectKilledIn<Defect::findsItBlindly>("finds it blindly", "awaits");
}
TEST(ChildListModel, ACancellerWithoutReferencesTouchesAFreedChild) {
    expectKilledIn<Defect::cancelsBlindly>("cancels blindly", "cancels");
}
TEST(ChildListModel, AChildOfACancelledScopeThatIsNotToldRunsForEver) {
    expectKilledIn<Defect::addsBlindly>("adds blindly", "spawns a sibling");
}
TEST(ChildListModel, ALastChildThatLeavesQuietlyLeavesItsParentAsleep) {
    expectKilledIn<Defect::forgetsToWake>("forgets to wake", "awaits");
}
TEST(ChildListModel, AWaitThatCanBeInterruptedEndsTheScopeTooEarly) {
    expectKilledIn<Defect::interruptible>("interruptible", "awaits");
}

}  // namespace
}  // namespace weft::model
