// ChildList (docs/explanation/protocol.md section 14): children end on other threads, their parent waits for them and
// then ends the scope, and another thread cancels them. Nothing touches the scope after its end, each child is
// cancelled once and freed once, and the parent sees what its children wrote.
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
    findsItBlindly,  // the parent checks the size without the lock
    cancelsBlindly,  // the canceller takes no references
    addsBlindly,     // a child added to a cancelled scope is not cancelled
    forgetsToWake,   // the last child does not wake the parent
    interruptible,   // the parent's wait may end before the last child has left
    freesBlindly,    // a refused child is freed without a look at its references
    asksFirst,       // or the look comes before the child has left the list
};

struct Child {
    Link<Child> previousSibling;
    Link<Child> nextSibling;
    Link<Child> nextCancelled;
    detail::BasicTaskState<Atomics> state;
    int* freed = nullptr;  // for the checks only
    int cancelled = 0;

    void release() {
        if (!state.release()) return;
        ++*freed;
        destroy(*this);
    }
};

using Waiters = BasicWaitList<ThreadWait>;
using Shipped = detail::BasicChildList<Atomics, Child, Waiters>;

// The shipped list with one defect: in how it uses its waiters,
template <Defect defect>
class TwinWaiters : public Waiters {
  public:
    struct Woken {
        void resume() {
            if (late != nullptr) woken = late->Waiters::claimAll();
            woken.resume();
        }
        Waiters::Woken woken = {};
        TwinWaiters* late = nullptr;  // claims only now, without the lock
    };
    // Context: the last child, with the lock held.
    Woken claimAll() {
        lastHasLeft_ = true;
        if (defect == Defect::forgetsToWake) return {};
        if (defect == Defect::wakesOutside) return {.late = this};
        return {.woken = Waiters::claimAll()};
    }
    template <class Ready>
    void waitUninterruptibly(Mutex& lock, const char* call, Ready ready) {
        if (defect == Defect::findsItBlindly && lastHasLeft_) return;
        if (defect == Defect::interruptible) return static_cast<void>(waitUntil(lock, Timeout::possible, call, ready));
        Waiters::waitUninterruptibly(lock, call, ready);
    }

  private:
    Plain<bool> lastHasLeft_{false};
};

// or in what its callers get.
template <Defect defect>
class TwinList : public detail::BasicChildList<Atomics, Child, TwinWaiters<defect>> {
    using List = detail::BasicChildList<Atomics, Child, TwinWaiters<defect>>;

  public:
    bool add(Child& child) {
        const bool cancelled = List::add(child);
        return defect != Defect::addsBlindly && cancelled;
    }
    template <class Retain, class Cancel>
    void cancelAll(Retain retain, Cancel cancel) {
        if (defect != Defect::cancelsBlindly) return List::cancelAll(retain, cancel);
        List::cancelAll([](Child&) {}, [&](Child& child) { retain(child), cancel(child); });
    }
};

// A scope, its parent, and two children with what they write.
template <class List>
struct Family {
    struct Scope {
        List list;
        std::array<Plain<int>, 3> written;
    };
    Scope* scope = nullptr;
    ThreadTask parent;
    int freed = 0;

    void adopt(Child& child, bool joinable = false) {
        child.state.initialize(joinable);
        child.freed = &freed;
        if (scope->list.add(child)) child.state.requestCancel();
    }
    // completeFiber()
    void end(Child& child, std::size_t which) {
        scope->written[which] = 1;
        scope->list.remove(child);
        child.release();
    }
    // The end of Carrier::submit(), for a child that adopt() has put into the list. It has the references of its run
    // and its handle.
    void refuse(Child& child, Defect defect) {
        if (defect == Defect::none) {
            scope->list.withdraw(child, [](auto condition) { await(condition); });
        } else {
            if (defect == Defect::asksFirst) await([&child] { return !child.state.isShared(); });
            scope->list.remove(child);
        }
        ++freed;
        destroy(child);
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

    // The parent waits for two children, first with a timeout if `timesOut`; then it ends the scope.
    static Scenario awaits(bool timesOut) {
        return [=](ModelRun& run) {
            FamilyType& family = make(run);
            addChild(run, family, 0);
            addChild(run, family, 1);
            run.thread("parent", [&family, timesOut] {
                ThreadWait::use(family.parent);
                if (timesOut) (void)family.scope->list.wait(Timeout::possible, "join");
                family.leave({0, 1});
            });
            run.finally([&family] { assertThat(family.freed == 2, "each child is freed once"); });
        };
    }
    // The parent cancels them before.
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

    // A carrier that shuts down refuses the sibling that a child starts, while the parent cancels them.
    template <Defect defect>
    static void refusesASibling(ModelRun& run) {
        FamilyType& family = make(run);
        auto& first = run.make<Child>();
        auto& second = run.make<Child>();
        family.adopt(first);
        run.thread("child", [&family, &first, &second] {
            family.adopt(second, true);
            family.refuse(second, defect);
            family.end(first, 0);
        });
        run.thread("parent", [&family] {
            ThreadWait::use(family.parent);
            family.cancel();
            family.leave({0});
        });
        run.finally([&family] { assertThat(family.freed == 2, "each child is freed once"); });
    }
    // A third thread cancels the children, one of which is refused.
    static void refusesOneOfThree(ModelRun& run) {
        FamilyType& family = make(run);
        auto& refused = run.make<Child>();
        auto& ended = run.make<Atomic<int>>(0);
        addChild(run, family, 0);
        run.thread("canceller", [&family, &ended] {
            family.cancel();
            ended.store(1, std::memory_order_release);
        });
        run.thread("parent", [&family, &refused, &ended] {
            ThreadWait::use(family.parent);
            family.adopt(refused, true);
            family.refuse(refused, Defect::none);
            await([&ended] { return ended.load(std::memory_order_acquire) != 0; });
            family.leave({0});
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

// JoinSet: the parent takes the children that have ended, one by one, and then ends the set.
void takesTheEnded(ModelRun& run) {
    struct Set {
        Shipped list{true};
        std::array<Plain<int>, 2> written;
    };
    struct Shared {
        Set* set = nullptr;
        std::array<Child*, 2> children{};
        ThreadTask parent;
        int freed = 0;
    };
    auto& shared = run.make<Shared>();
    shared.set = &run.make<Set>();
    for (const std::size_t i : {0u, 1u}) {
        auto& child = run.make<Child>();
        child.state.initialize(true);
        child.freed = &shared.freed;
        shared.children[i] = &child;
        (void)shared.set->list.add(child);
        run.thread(i == 0 ? "child0" : "child1", [&shared, &child, i] {
            shared.set->written[i] = 1;
            shared.set->list.remove(child);
            child.release();
        });
    }
    run.thread("parent", [&shared] {
        ThreadWait::use(shared.parent);
        int taken = 0;
        for (;;) {
            (void)shared.set->list.waitForOne(Timeout::never, "next");
            Child* const child = shared.set->list.takeEnded();
            if (child == nullptr) break;
            assertThat(shared.set->written[child == shared.children[0] ? 0 : 1] == 1, "what the child wrote");
            child->release();
            ++taken;
        }
        assertThat(taken == 2, "each child is taken once");
        destroy(*shared.set);
    });
    run.finally([&shared] { assertThat(shared.freed == 2, "each child is freed once"); });
}

template <class List = Shipped>
std::vector<Case> cases() {
    using Built = Scenarios<List>;
    return {makeCase("awaits", Built::awaits(false)),
            makeCase("awaits with a timeout", Built::awaits(true)),
            makeCase("cancels", Built::cancels),
            makeCase("spawns a sibling", Built::spawnsASibling),
            makeCase("fails", Built::fails),
            makeCase("refuses a sibling", Built::template refusesASibling<Defect::none>),
            makeCase("refuses one of three", Built::refusesOneOfThree)};
}

constexpr const char* protocol = "child list";

TEST(ChildListModel, NoChildOutlivesItsScopeWithinThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000, .seconds = 200, .mustEnd = true});
}
TEST(ChildListModel, NoChildOutlivesItsScopeInEveryInterleaving) {
    exploreAll(protocol, cases(), {.search = Search::full, .executions = 600'000, .seconds = 200, .mustEnd = true});
}
TEST(ChildListModel, NoChildOutlivesItsScopeAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 20'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 20'000});
}

TEST(ChildListModel, ASetHandsOutEachChildOnce) {
    exploreAll(protocol, {makeCase("takes the ended", takesTheEnded)}, {.preemptions = 3, .executions = 100'000});
    exploreAll(protocol, {makeCase("takes the ended", takesTheEnded)},
               {.search = Search::random, .executions = 20'000});
}

// --- twins

// The lock orders the list; only the children's reference counts are atomic.
TEST(ChildListModel, ARelaxedReleaseOfAReferenceFreesAChildTooEarly) {
    expectKilledTogether(only("cancels", cases()), {"task_state release fetch_sub acq_rel->relaxed"});
}

// [E2] [J3]: the uses of a canceller come before the block is freed.
TEST(ChildListModel, ARelaxedLookAtTheReferencesFreesARefusedChildTooEarly) {
    expectKilledTogether(only("refuses a sibling", cases()), {"task_state isShared load acquire->relaxed"});
}
TEST(ChildListModel, ARefusedChildThatIsFreedBlindlyIsTouchedByACanceller) {
    expectKilled("frees blindly",
                 {makeCase("refuses a sibling", Scenarios<Shipped>::refusesASibling<Defect::freesBlindly>)});
}
TEST(ChildListModel, ARefusedChildMustLeaveTheListBeforeTheLookAtItsReferences) {
    expectKilled("asks first", {makeCase("refuses a sibling", Scenarios<Shipped>::refusesASibling<Defect::asksFirst>)});
}

template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, cases<TwinList<defect>>()));
}

TEST(ChildListModel, TheTwinWithoutADefectPasses) {
    exploreAll("child list (twin)", cases<TwinList<Defect::none>>(), {.executions = 50'000});
}
TEST(ChildListModel, AChildThatClaimsAfterTheUnlockTouchesAScopeThatIsGone) {
    expectKilledIn<Defect::wakesOutside>("wakes outside", "awaits with a timeout");
}
TEST(ChildListModel, AParentThatChecksTheSizeWithoutTheLockLeavesTooEarly) {
    expectKilledIn<Defect::findsItBlindly>("finds it blindly", "awaits");
}
TEST(ChildListModel, ACancellerWithoutReferencesTouchesAFreedChild) {
    expectKilledIn<Defect::cancelsBlindly>("cancels blindly", "cancels");
}
TEST(ChildListModel, AChildAddedToACancelledScopeMustBeCancelledToo) {
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
