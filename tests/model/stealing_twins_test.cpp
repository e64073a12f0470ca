// Queues with one defect each; the scenarios of stealing must detect it.
#include "stealing_scenarios.hpp"

namespace weft::model {
namespace {

using namespace stealing;

enum class Defect {
    none,
    claimsByStore,     // a thief loads the head and stores it
    popsByStore,       // the owner does
    readsLate,         // a thief reads the slots after its claim
    narrowHead,        // the head has two bits
    publishesEarly,    // the tail before the slot
    overwrites,        // the owner does not check whether there is room
    handsBackByStore,  // overwrites what another thread has put there
    takesByStore,      // loads the backlog, then stores it
    sleepsOnBacklog,   // the owner's check before it sleeps omits the backlog
    closesBlindly,     // leaves the backlog open
    takesTheMark,      // a thief takes the in-tray as the owner does
    keepsPrivate,      // thieves cannot reach the owner's overflow
    hidesHandBack,     // does not report it, so no thread wakes the owner
};

// A copy of the queue in which one thing can be wrong.
template <Defect defect, std::uint32_t capacity>
class TwinQueue {
  public:
    bool submit(Task& task) { return inTray_.push(task); }
    bool hasStealable() const {
        return head_.load(std::memory_order_relaxed) != tail_.load(std::memory_order_relaxed) ||
               isList(backlog_.load(std::memory_order_relaxed)) || !inTray_.empty();
    }

    StealResult stealFrom(TwinQueue& victim) {
        if (claimFrom(victim)) return StealResult::taken;
        Task* list = victim.takeBacklog();
        if (list == nullptr) {
            list = defect == Defect::takesTheMark ? victim.inTray_.takeAll() : victim.inTray_.stealAll();
        }
        if (list == nullptr) return StealResult::nothing;
        Task* rest = keepHalf(list);
        if (rest == nullptr) return StealResult::taken;
        Task* none = nullptr;
        if (defect == Defect::handsBackByStore) {
            victim.backlog_.store(rest, std::memory_order_seq_cst);
            return StealResult::handedBack;
        }
        if (victim.backlog_.compare_exchange_strong(none, rest, std::memory_order_seq_cst, std::memory_order_relaxed)) {
            return defect == Defect::hidesHandBack ? StealResult::taken : StealResult::handedBack;
        }
        accept(rest);
        return StealResult::taken;
    }

    void push(Task& task) {
        const Index tail = tail_.load(std::memory_order_relaxed);
        const bool hasRoom = distance(tail, head_.load(std::memory_order_acquire)) < capacity;
        const bool behind = overflowed_ || backlog_.load(std::memory_order_relaxed) != nullptr || private_ != nullptr;
        if ((!behind && hasRoom) || defect == Defect::overwrites) {
            if (defect == Defect::publishesEarly) tail_.store(wrapped(tail + 1), std::memory_order_release);
            slot(tail).store(&task, std::memory_order_relaxed);
            if (defect != Defect::publishesEarly) tail_.store(wrapped(tail + 1), std::memory_order_release);
        } else if (defect == Defect::keepsPrivate) {
            task.next = nullptr;
            private_ = joined(private_, &task);
        } else {
            overflowed_ = true;
            (void)inTray_.push(task);
        }
    }
    void takeSubmitted() {
        if (backlog_.load(std::memory_order_relaxed) != nullptr) return;
        overflowed_ = false;
        if (Task* list = inTray_.takeAll()) accept(list);
    }
    Task* pop() {
        Index head = head_.load(std::memory_order_relaxed);
        for (;;) {
            if (head == tail_.load(std::memory_order_relaxed)) {
                if (!refill()) return nullptr;
                head = head_.load(std::memory_order_relaxed);
                continue;
            }
            Task* task = slot(head).load(std::memory_order_relaxed);
            if (defect == Defect::popsByStore) {
                head_.store(wrapped(head + 1), std::memory_order_relaxed);
                return task;
            }
            if (head_.compare_exchange_weak(head, wrapped(head + 1), std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
                return task;
            }
        }
    }
    bool empty() const {
        const bool backlog = defect != Defect::sleepsOnBacklog && isList(backlog_.load(std::memory_order_seq_cst));
        return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed) && !backlog &&
               private_ == nullptr && inTray_.empty();
    }
    bool closeIfEmpty() {
        if (!empty()) return false;
        Task* seen = nullptr;
        if (defect != Defect::closesBlindly &&
            !backlog_.compare_exchange_strong(seen, closedMark(), std::memory_order_relaxed,
                                              std::memory_order_relaxed) &&
            seen != closedMark()) {
            return false;
        }
        if (inTray_.closeIfEmpty()) return true;
        if (defect != Defect::closesBlindly) backlog_.store(nullptr, std::memory_order_relaxed);
        return false;
    }

  private:
    using Index = std::uint64_t;

    static Index wrapped(Index index) { return defect == Defect::narrowHead ? index & 3 : index; }
    static Index distance(Index tail, Index head) { return wrapped(tail - head); }
    Task* closedMark() const { return reinterpret_cast<Task*>(const_cast<TwinQueue*>(this)); }
    bool isList(Task* backlog) const { return backlog != nullptr && backlog != closedMark(); }
    auto& slot(Index index) { return ring_[index & (capacity - 1)]; }

    bool claimFrom(TwinQueue& victim) {
        const Index tail = tail_.load(std::memory_order_relaxed);
        const Index room = capacity - distance(tail, head_.load(std::memory_order_acquire));
        Index head = victim.head_.load(std::memory_order_relaxed);
        for (;;) {
            const Index size = distance(victim.tail_.load(std::memory_order_acquire), head);
            const Index count = std::min(size - size / 2, room);
            if (count == 0) return false;
            if (size > capacity) {
                head = victim.head_.load(std::memory_order_relaxed);
                continue;
            }
            if (defect != Defect::readsLate) copy(victim, head, tail, count);
            if (defect == Defect::claimsByStore) {
                victim.head_.store(wrapped(head + count), std::memory_order_release);
            } else if (!victim.head_.compare_exchange_weak(head, wrapped(head + count), std::memory_order_release,
                                                           std::memory_order_relaxed)) {
                continue;
            }
            if (defect == Defect::readsLate) copy(victim, head, tail, count);
            tail_.store(wrapped(tail + count), std::memory_order_release);
            return true;
        }
    }
    void copy(TwinQueue& victim, Index from, Index to, Index count) {
        for (Index i = 0; i < count; ++i) {
            slot(to + i).store(victim.slot(from + i).load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
    }
    Task* keepHalf(Task* list) {
        Index tail = tail_.load(std::memory_order_relaxed);
        Index room = capacity - distance(tail, head_.load(std::memory_order_acquire));
        for (Task* twiceAsFar = list; twiceAsFar != nullptr && room != 0; --room) {
            twiceAsFar = twiceAsFar->next;
            if (twiceAsFar != nullptr) twiceAsFar = twiceAsFar->next;
            slot(tail++).store(list, std::memory_order_relaxed);
            list = list->next;
        }
        tail_.store(wrapped(tail), std::memory_order_release);
        return list;
    }
    void accept(Task* list) {
        Index tail = tail_.load(std::memory_order_relaxed);
        Index room = capacity - distance(tail, head_.load(std::memory_order_acquire));
        for (; list != nullptr && room != 0; list = list->next, --room) {
            slot(tail++).store(list, std::memory_order_relaxed);
        }
        tail_.store(wrapped(tail), std::memory_order_release);
        if (list == nullptr) return;
        if (defect == Defect::keepsPrivate) {
            private_ = joined(private_, list);
            return;
        }
        Task* none = nullptr;
        while (!backlog_.compare_exchange_strong(none, list, std::memory_order_release, std::memory_order_relaxed)) {
            if (Task* older = takeBacklog()) list = joined(older, list);
            none = nullptr;
        }
    }
    Task* takeBacklog() {
        Task* list = backlog_.load(std::memory_order_acquire);
        if (!isList(list)) return nullptr;
        if (defect == Defect::takesByStore) {
            backlog_.store(nullptr, std::memory_order_relaxed);
            return list;
        }
        const bool taken =
            backlog_.compare_exchange_strong(list, nullptr, std::memory_order_acquire, std::memory_order_relaxed);
        return taken ? list : nullptr;
    }
    bool refill() {
        Task* list = std::exchange(private_, nullptr);
        if (list == nullptr) list = takeBacklog();
        if (list == nullptr) return false;
        accept(list);
        return true;
    }
    static Task* joined(Task* first, Task* second) {
        if (first == nullptr) return second;
        Task* last = first;
        while (Task* next = last->next) last = next;
        last->next = second;
        return first;
    }

    detail::BasicInTray<Atomics, Task> inTray_;
    Atomic<Index> head_{0};
    Atomic<Task*> backlog_{nullptr};
    Atomic<Index> tail_{0};
    bool overflowed_ = false;
    Task* private_ = nullptr;
    std::array<Atomic<Task*>, capacity> ring_;
};

template <Defect defect>
struct Broken {
    template <class, class, std::uint32_t capacity>
    using Queue = TwinQueue<defect, capacity>;
};
template <Defect defect>
std::vector<Case> broken() {
    return cases<Broken<defect>::template Queue>();
}
template <Defect defect>
void expectKilledIn(const char* name, const char* where) {
    expectKilled(name, only(where, broken<defect>()));
}

TEST(StealingModel, TheTwinWithoutADefectPasses) {
    exploreAll("stealing (twin)", broken<Defect::none>(), {.executions = 30'000});
}
TEST(StealingModel, AClaimByStoreRunsATaskTwice) {
    expectKilledIn<Defect::claimsByStore>("claims by store", "the last task");
    expectKilledIn<Defect::popsByStore>("pops by store", "the last task");
}
TEST(StealingModel, SlotsThatAreReadAfterTheClaimAreOverwritten) {
    expectKilledIn<Defect::readsLate>("reads late", "the ring wraps");
}
TEST(StealingModel, AReusedHeadValueLetsALateThiefClaim) {
    expectKilledIn<Defect::narrowHead>("two bits of head", "the ring wraps");
}
TEST(StealingModel, ATailPublishedBeforeItsSlotGivesAThiefNothing) {
    expectKilledIn<Defect::publishesEarly>("publishes early", "the last task");
}
TEST(StealingModel, AFullRingMustNotBeOverwritten) {
    expectKilledIn<Defect::overwrites>("overwrites", "the ring wraps");
}
TEST(StealingModel, ABacklogThatIsChangedByStoresLosesTasks) {
    expectKilledIn<Defect::handsBackByStore>("hands back by store", "closing");
    expectKilledIn<Defect::takesByStore>("takes the backlog by store", "the ring wraps");
}
TEST(StealingModel, AnOwnerMustCheckItsBacklogBeforeSleepingAndBeWokenForIt) {
    expectKilledIn<Defect::sleepsOnBacklog>("sleeps on its backlog", "a sleeping owner");
    expectKilledIn<Defect::hidesHandBack>("hides what it handed back", "a sleeping owner");
}
TEST(StealingModel, AClosedQueueTakesNothingBack) {
    expectKilledIn<Defect::closesBlindly>("closes blindly", "closing");
}
TEST(StealingModel, AThiefThatTakesTheMarkReopensAClosedTray) {
    expectKilledIn<Defect::takesTheMark>("takes the mark", "closing");
}
TEST(StealingModel, ATaskOutOfReachWaitsForItsOwner) {
    expectKilledIn<Defect::keepsPrivate>("keeps its overflow private", "a long task");
}

}  // namespace
}  // namespace weft::model
