// Carrier: one OS thread with a run queue of fibers, a timer wheel and at most one hosted poller. CarrierGroup creates
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier_stats.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/carrier_request.hpp>
#include <weft/scheduler/detail/current_home.hpp>
#include <weft/scheduler/detail/fiber.hpp>
#include <weft/scheduler/detail/lehmer_generator.hpp>
#include <weft/scheduler/detail/live_list.hpp>
#include <weft/scheduler/detail/owned_pointer.hpp>
#include <weft/scheduler/detail/poller_slot.hpp>
#include <weft/scheduler/detail/slice_clock.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/flight_recorder.hpp>
#include <weft/scheduler/future.hpp>
#include <weft/scheduler/join_handle.hpp>
#include <weft/scheduler/local_store.hpp>
#include <weft/scheduler/pinned_poller.hpp>
#include <weft/scheduler/spawn_options.hpp>
#include <weft/scheduler/stack_pool.hpp>
#include <weft/scheduler/timer_wheel.hpp>

namespace weft {

class CarrierGroup;
class EventLoop;

namespace detail {
class CarrierHelper;
class FiberCollector;
class StealGroup;
class StuckCarriers;
template <class Host>
class CarrierTurn;
}  // namespace detail

class Carrier final : public TaskScheduler {
  public:
    // Starts fn() as a fiber whose home is this carrier and queues it after the fibers that are runnable there. Any
    // thread. Takes a pooled stack; allocates only when the pool is empty. The closure and the result live on the
    // fiber's stack. Throws SystemError(operation_aborted) once the carrier is shutting down, std::bad_alloc when there
    // is no memory for a stack, std::length_error for a stack size out of range.
    template <class F>
    auto spawn(F&& fn, SpawnOptions options = {}) -> JoinHandle<std::invoke_result_t<std::decay_t<F>&>> {
        auto& frame = makeFrame(std::forward<F>(fn), options, true);
        submit(frame);
        return JoinHandle<std::invoke_result_t<std::decay_t<F>&>>(frame);
    }
    // As spawn(), without a handle: cheaper. If fn() throws, the exception is logged.
    template <class F>
    void spawnDetached(F&& fn, SpawnOptions options = {}) {
        submit(makeFrame(std::forward<F>(fn), options, false));
    }

    // As spawnDetached(); the fiber is a member of `set` until fn() has returned. If the caller runs on this carrier as
    // its own code or as a fiber at home, the membership begins with this call; a fiber of this carrier that runs
    // elsewhere first goes home, if it may suspend. In all other cases it begins when the new fiber does.
    template <class F>
    void spawnMember(FiberSet& set, F&& fn, SpawnOptions options = {}) {
        submitMember(set, std::forward<F>(fn), options, false);
    }
    // The same with a handle.
    template <class F>
    auto spawnJoinableMember(FiberSet& set, F&& fn, SpawnOptions options = {})
        -> JoinHandle<std::invoke_result_t<std::decay_t<F>&>> {
        auto& frame = submitMember(set, std::forward<F>(fn), options, true);
        return JoinHandle<std::invoke_result_t<std::decay_t<F>&>>(frame);
    }

    // Hosts a poller on this carrier: body(poller) runs in a fiber of its own, which the carrier runs after every run
    // of fibers. The future completes once the body has ended, no wakeup call is in flight and the slot is free. If the
    // body threw, the future has that error. Throws std::logic_error when the slot is taken; otherwise as spawn(), so
    // SystemError(operation_aborted) once a shutdown has been requested. Any thread. No fiber may suspend in `wakeup`.
    Future<void> registerPinnedPoller(PinnedPoller::Wakeup wakeup, PinnedPoller::Body body,
                                      std::string_view name = "poller");

    // A service that exists once per carrier. The first use default-constructs it; the carrier's thread destroys it
    // when the carrier ends. Context: this carrier.
    template <class T>
    T& local() {
        WEFT_DEBUG_ASSERT(isCurrent(), "Carrier::local() of another carrier; call thisFiber::goHome() first");
        return locals_.get<T>();
    }

    // When, on the steady clock, a sleep of this carrier must end: when its earliest timer is due or, with work
    // stealing, when it must check other carriers' queues again, whichever is earlier. `never` if there is neither.
    // Context: this carrier.
    Deadline parkDeadline() const noexcept {
        Deadline timer = timers_.nextExpiry();
        if (ownTime_) [[unlikely]]
            timer = onSteadyClock(timer);
        return helper_ == nullptr ? timer : withHelpDeadline(timer);
    }
    // The clock of its timers, and of the deadlines of waits on it: CarrierOptions::clock. Any thread.
    Clock& clock() const noexcept { return clock_; }
    TimerWheel& timers() noexcept { return timers_; }  // context: this carrier
    // Number of queued fibers, excluding those that other threads have submitted and the carrier has not taken over
    // yet. Context: this carrier.
    std::size_t runnableFibers() const noexcept { return core_.queue().depth(); }

    // Number of queued fibers at the beginning of the carrier's last run of fibers; may be stale. Any thread.
    std::size_t queuedFibers() const noexcept { return counters_.queueDepth.get(); }

    // What a new fiber would wait for, as a number of fibers: queuedFibers(), those that other threads have spawned
    // since then, and aLongSlice if the carrier has been in one slice for longer than CarrierOptions::yieldBudget, as
    // far as earlier calls can tell. A heuristic; may be stale. Any thread; reads the clock.
    std::size_t load() const noexcept;
    static constexpr std::size_t aLongSlice = 1'000'000;

    unsigned index() const noexcept { return index_; }
    const std::string& name() const noexcept { return name_; }
    CarrierGroup& group() const noexcept { return group_; }
    CarrierStats stats() const noexcept { return counters_.snapshot(live_.enlisted()); }  // any thread
    bool stopRequested() const noexcept { return core_.stopRequested(); }

    // The carrier that runs on the calling thread, or null. Read anew by each call, so it is safe across suspensions.
    static Carrier* current() noexcept { return detail::currentCarrier(); }
    // The running fiber's home carrier, on whichever carrier it runs; outside of fibers, current().
    static Carrier* home() noexcept;
    bool isCurrent() const noexcept { return current() == this; }

    // The carrier's eventfd, open for its whole life. Hosted pollers watch it edge-triggered and never read it.
    int wakeFd() const noexcept { return wakeFd_.fd; }
    void writeWakeFd() noexcept;  // any thread

    // TaskScheduler: makes a task runnable after this caller has ended its wait. Any thread.
    void enqueue(Task& task) noexcept override;
    // Wakes a sleeping carrier so that it checks for work. Call it after publishing the work with a seq_cst RMW or
    // store [K1]. Context: any thread; the caller, or a SubmitGuard that it holds, must keep the carrier from ending.
    void wakeIfParked() noexcept;

    Carrier(CarrierGroup& group, unsigned index);
    ~Carrier();
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;

  private:
    friend class CarrierGroup;
    friend class EventLoop;
    friend class NonSuspendingScope;
    friend class PinnedPoller;
    friend class PollGuard;
    friend class Suspension;
    friend class TaskScope;
    template <class>
    friend class JoinSet;
    friend struct FiberAccess;
    friend void writeTrace(CarrierGroup&, std::ostream&);

    friend class detail::CarrierHelper;
    friend class detail::FiberCollector;
    friend class detail::StuckCarriers;
    friend class detail::CarrierTurn<Carrier>;
    friend class detail::StealGroup;

    using Core = detail::BasicCarrierCore<detail::NativeAtomics, Task>;
    using Live = detail::BasicLiveList<detail::NativeAtomics, detail::Fiber, Task>;
    using SubmitGuard = Core::SubmitGuard;

    template <class F>
    auto& makeFrame(F&& fn, const SpawnOptions& options, bool joinable) {
        return makeFrame<std::decay_t<F>, F>(std::forward<F>(fn), options, joinable);
    }
    // Constructs the closure, a Function, from `parts`.
    template <class Function, class Parts>
    auto& makeFrame(Parts&& parts, const SpawnOptions& options, bool joinable) {
        using Frame = detail::FiberFrame<Function>;
        static_assert(sizeof(Frame) <= 4096, "the closure is too large for a fiber's stack: move it to the heap");
        static_assert(alignof(Frame) <= 1024,
                      "the closure's alignment is too large for a fiber's stack: move it to the heap");
        const Stack stack = takeStack(options.stackSize);
        void* place = detail::placeOnStack(stack, sizeof(Frame), alignof(Frame));
        try {
            return *::new (place) Frame(*this, stack, options, joinable, std::forward<Parts>(parts));
        } catch (...) {
            giveStack(stack);
            throw;
        }
    }

    template <class F>
    auto& submitMember(FiberSet& set, F&& fn, const SpawnOptions& options, bool joinable) {
        const bool here = detail::currentHome() == this || detail::comeHome(*this);
        using Function = detail::MemberFunction<std::decay_t<F>>;
        auto& frame = makeFrame<Function>(detail::MemberParts<F>{set, std::forward<F>(fn)}, options, joinable);
        if (here) frame.function().join(frame);
        submit(frame);
        return frame;
    }

    // spawn() for TaskScope: the fiber becomes a child of `scope`. If this throws, the fiber has been removed from it.
    template <class F>
    auto spawnChild(detail::ScopeChildren& scope, F&& fn, const SpawnOptions& options)
        -> JoinHandle<std::invoke_result_t<std::decay_t<F>&>> {
        auto& frame = makeFrame(std::forward<F>(fn), options, true);
        enlist(frame, scope);
        submit(frame);
        return JoinHandle<std::invoke_result_t<std::decay_t<F>&>>(frame);
    }
    // The same for JoinSet: `scope` keeps the handle's reference.
    template <class F>
    void spawnKept(detail::ScopeChildren& scope, F&& fn, const SpawnOptions& options) {
        auto& frame = makeFrame(std::forward<F>(fn), options, true);
        enlist(frame, scope);
        submit(frame);
    }
    static void enlist(detail::Fiber& fiber, detail::ScopeChildren& scope) noexcept;

    // The carrier's life, in order (carrier_thread.cpp).
    void start();
    void requestStop() noexcept;
    void join() noexcept;
    void threadMain() noexcept;
    void abort(detail::Fiber& fiber) noexcept;
    void requestStragglers() noexcept;
    // Sends a request that the carrier answers on its own thread. False: the carrier has ended, and the caller keeps
    // the request. Any thread.
    [[nodiscard]] bool send(detail::CarrierRequest& request) noexcept;
    void answerRequests(detail::CarrierRequest* first) noexcept;
    void logStragglers() noexcept;
    void answerTurnRequest() noexcept;
    void beforeEnd() noexcept;
    static void pause() noexcept { std::this_thread::yield(); }

    // The operations that CarrierTurn calls (carrier_run.cpp).
    void runUntilEnd() noexcept;
    Core& core() noexcept { return core_; }
    Live& live() noexcept { return live_; }
    detail::PollerSlot& poller() noexcept { return poller_; }
    void fireTimers() noexcept;
    Deadline onSteadyClock(Deadline timer) const noexcept;
    void wakeForClock() noexcept;
    void noteDepth(std::size_t depth) noexcept;
    bool isInLongSlice() const noexcept;
    void beginFiberRun() noexcept;
    void endFiberRun() noexcept;
    bool fiberRunIsOver() noexcept { return fiberRunClock_.passedAfterSlice(); }
    Task* nextTask(bool& moved) noexcept;
    void prefetchNext() const noexcept;
    bool hasManyFibers() const noexcept;
    void run(Task& task) noexcept;
    void left(detail::Fiber& fiber) noexcept;

    // Running fibers (carrier_run.cpp).
    detail::SwitchReason runUntraced(detail::Fiber& first) noexcept;
    void afterSwitch(detail::Fiber& fiber) noexcept;
    void end(detail::Fiber& fiber) noexcept;
    void endAway(detail::Fiber& fiber) noexcept;
    // Context: the carrier's own thread, which is awake, so no wake-up is needed.
    void makeRunnable(detail::Fiber& fiber) noexcept {
        if (helper_ != nullptr || fiber.isPoller) [[unlikely]]
            return makeRunnableInItsPlace(fiber);
        core_.queue().push(fiber);
    }
    void makeRunnableInItsPlace(detail::Fiber& fiber) noexcept;
    bool isAway(const detail::Fiber& fiber) const noexcept { return fiber.homeCarrier != this; }
    std::size_t fireManyTimers(TimePoint now) noexcept;
    void noteTimers(std::size_t fired) noexcept;

    // Running fibers, on their own stacks (carrier_switch.cpp).
    void switchOut(detail::Fiber& fiber, detail::SwitchReason reason) noexcept;
    void commitWait(detail::Fiber& fiber) noexcept;
    detail::Fiber* successor() noexcept;
    void beginSlice(detail::Fiber& fiber) noexcept;
    void arrive() noexcept;
    void complete(detail::Fiber& fiber) noexcept;
    detail::Fiber* finish(detail::Fiber& fiber) noexcept;

    // Starting fibers (carrier.cpp).
    std::uint64_t takeFiberId() noexcept;
    void enlistHere(detail::Fiber& fiber) noexcept;
    void submit(detail::Fiber& fiber);
    void submitFromOutside(detail::Fiber& fiber);
    Stack takeStack(std::size_t size);
    Stack takeStackOfPool(std::size_t size) const;
    static void giveStack(const Stack& stack) noexcept;
    void startPoller(detail::Fiber& fiber);
    void wakeOrCallHelp() noexcept;
    void endSleep(detail::SleepKind sleep, bool call = false) noexcept;

    // Work stealing (carrier_steal.cpp): inactive without a helper.
    void joinGroup(detail::StealGroup& group, unsigned member);
    Deadline withHelpDeadline(Deadline timer) const noexcept;
    bool mayBeStolen(const detail::Fiber& fiber) const noexcept { return helper_ != nullptr && othersMayRun(fiber); }
    static bool othersMayRun(const detail::Fiber& fiber) noexcept;
    void publish(detail::Fiber& fiber) noexcept;
    void published() noexcept;
    void callHelp() noexcept;
    bool pull() noexcept;
    bool mustNotSleep(bool callable = true) noexcept;
    void leavesSleep() noexcept;
    void answer(detail::CalledBy call) noexcept;
    void getsBusy() noexcept {
        if (helper_ != nullptr) [[unlikely]]
            stopWatchingOthers();
    }
    void stopWatchingOthers() noexcept;

    // Sleeping (carrier_park.cpp).
    template <class MoreWork>
    bool trySleep(detail::SleepKind kind, MoreWork moreWork) noexcept;
    bool trySleepInPoller(const EventLoop* loop) noexcept;
    void leaveSleepInPoller(bool toWork) noexcept;
    bool leaveSleep() noexcept;
    void beforeSleep() noexcept;
    void blockInFutex() noexcept;
    void countWake(detail::SleepEnd end) noexcept;
    void notePark(detail::SleepKind kind) noexcept;
    void diagnoseOversleep() noexcept;

    // The flight recorder (carrier_trace.cpp): inactive without a ring.
    bool traces() const noexcept { return trace_ != nullptr; }
    void trace(detail::TraceKind kind, TimePoint begin, std::uint64_t a, std::uint64_t b = 0,
               std::uint64_t c = 0) noexcept;
    // Records in the ring of the calling thread's carrier if that belongs to this group; otherwise in this carrier's
    // ring.
    void traceFromOutside(detail::TraceKind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) noexcept;
    void traceSubmit(const detail::Fiber& fiber) noexcept;
    void runTraced(detail::Fiber& fiber) noexcept;
    void tracePark(detail::CalledBy call) noexcept;

    CarrierGroup& group_;
    const unsigned index_;
    Clock& clock_;
    const bool ownTime_;  // clock_ is not the steady clock
    const std::string name_;
    std::unique_ptr<detail::CarrierHelper> helper_;  // null without work stealing; set before the threads start
    // Owns a descriptor; declared before the members whose constructors may throw.
    struct WakeFd {
        WakeFd();
        ~WakeFd();
        WakeFd(const WakeFd&) = delete;
        WakeFd& operator=(const WakeFd&) = delete;
        const int fd;
    };

    const WakeFd wakeFd_;
    const std::unique_ptr<std::byte[]> signalStack_;  // for the report of a stack overflow

    // Any thread.
    Core core_;
    std::atomic<bool> stragglersWanted_{false};
    detail::CarrierRequests requests_;
    std::atomic<bool> ended_{false};
    // What load() has seen: the carrier's progress, and since when. relaxed: a heuristic, which orders nothing
    mutable std::atomic<std::uint64_t> seenProgress_{~std::uint64_t{0}};
    mutable std::atomic<Duration::rep> seenSince_{0};
    std::atomic<int> threadId_{0};  // the kernel's, once the thread runs. relaxed: used for signals only
    detail::PollerSlot poller_;
    Live live_;

    // The carrier's thread.
    alignas(detail::cacheLine) detail::OwnedPointer<detail::Fiber> currentFiber_;
    detail::ExceptionGlobals* threadExceptions_ = nullptr;
    const std::unique_ptr<detail::TraceRing> trace_;  // any thread may record
    unsigned nonSuspendingDepth_ = 0;
    Deadline advertisedDeadline_ = never;  // parkDeadline() when the poller went to sleep
    bool unparkForgotten_ = false;         // a missing unpark() has been reported
    TimePoint parkBegan_{};                // for the recorder, as are the next three
    detail::SleepKind parkKind_ = detail::SleepKind::none;
    detail::SleepEnd parkEnd_ = detail::SleepEnd::notAsleep;
    TimePoint fiberRunBegan_{};
    bool switchesDirectly_ = false;         // fibers run from the queue, no thief can take them, nothing is recorded
    detail::Fiber* leftForNext_ = nullptr;  // has ended, and is released by the fiber that runs next
    std::uint64_t ranBefore_ = 0;           // counters_.run at the beginning of the run of fibers
    bool prefetches_ = false;               // more fibers live than the cache holds
    detail::SliceClock fiberRunClock_;
    detail::SliceClock timerClock_;
    const bool shuffled_;
    detail::LehmerGenerator shuffle_;
    std::uint64_t nextFiberId_ = 0;
    std::uint64_t lastFiberId_ = 0;
    detail::FiberContext threadContext_;
    StackCache stacks_;
    TimerWheel timers_;
    LocalStore locals_;
    EventLoop* eventLoop_ = nullptr;
    bool loopEnded_ = false;  // the last loop that it hosted has ended
    detail::CarrierCounters counters_;

    std::thread thread_;
};

}  // namespace weft
