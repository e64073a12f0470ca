// CarrierGroup: the carriers of one configuration. A process may have several; each owns its threads, stacks and
// timers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_options.hpp>
#include <weft/scheduler/detail/build_tag.hpp>
#include <weft/scheduler/fiber_dump.hpp>

namespace weft {

class BlockingPool;

// The constructor creates everything before it starts the first thread (SCH-1); the destructor returns after it has
// joined every thread (SCH-11). Carrier threads block every signal except SIGPROF and the signals that a thread raises
// itself, such as SIGSEGV: signal handlers run on the program's own threads. A CarrierWatchdog
// unblocks one more. A child process that a fiber starts
// inherits this mask, so give the child a mask of its own (POSIX_SPAWN_SETSIGMASK).
//
// fork() copies only the calling thread, so the child process has no carriers. In the child, shutdown() and the
// destructor log a warning and return at once; spawn() and JoinHandle::join() throw SystemError(ENOTSUP). A fiber that
// calls fork() continues in the child as a plain thread, which must end by exec(), exit() or _exit().
class CarrierGroup {
  public:
    // Throws ConfigurationError for a bad option or environment variable, SystemError when the kernel refuses threads,
    // memory or descriptors. After an exception no thread or resource remains.
    explicit CarrierGroup(const CarrierOptions& options = {}, detail::ThisBuild = {});
    // Calls shutdown() until it succeeds, however long that takes; every 5 seconds the log names the fibers that have
    // not ended. Context: a plain thread, while no other thread is in shutdown() of this group. On a carrier of this
    // group, or on a thread of its blocking pool, the destructor could never return, so it logs an error and aborts.
    // This happens to a group with static storage duration when a fiber, or a function in blocking(), calls exit().
    ~CarrierGroup();
    CarrierGroup(const CarrierGroup&) = delete;
    CarrierGroup& operator=(const CarrierGroup&) = delete;

    // The default group, constructed by the first call. exit() shuts it down. If one of its own fibers, or a
    // function on a thread of its blocking pool, calls exit(), the process logs a warning and ends with that status,
    // without waiting for the fibers.
    static CarrierGroup& instance();

    std::size_t size() const noexcept { return carriers_.size(); }
    Carrier& carrier(std::size_t index) { return *carriers_.at(index); }  // throws std::out_of_range
    // A carrier for a new fiber: the calling fiber's home carrier, or the calling thread's carrier, if it belongs to
    // this group. Otherwise the less loaded of two candidates: the next one in round-robin order, and a pseudo-random
    // one, which wins only if fewer fibers are queued there. Any thread.
    Carrier& next() noexcept;

    // Starts a fiber on next(): see Carrier::spawn. With work stealing, another carrier may start it, unless the caller
    // runs on a carrier of this group or `options` has a value for `stealable`.
    template <class F>
    auto spawn(F&& fn, SpawnOptions options = {}) {
        return place(options).spawn(std::forward<F>(fn), options);
    }

    // Requests that every carrier end: it refuses spawns, tells its poller to return, and ends the wait of every parked
    // fiber and every later wait with operation_aborted. Waits under Suspension::parkUninterruptibly() continue. Any
    // thread; returns at once.
    void beginShutdown() noexcept;
    // Calls beginShutdown(), waits until every fiber and poller has ended, and joins the threads. Returns false if
    // `timeout` passed first; the log then names the fibers and pollers that still run, and the call may be repeated.
    // Context: plain threads, several at once (throws BlockingOperationException on a carrier of this group).
    bool shutdown(Duration timeout);

    // True in a process that was forked after this group was created. Any thread.
    bool forked() const noexcept;

    // A dump of the group's fibers: see fiber_dump.hpp. `timeout` is time of Clock::current(). Each carrier lists its
    // own fibers on its own thread, between two tasks; fibers that are spawned or wait pay nothing for it. A carrier
    // that has not answered after `timeout` is reported as such. Parks a fiber, blocks a plain thread. Context: a
    // fiber, or a plain thread that keeps the group alive. Allocates. Throws BlockingOperationException where nothing
    // may block, SystemError(operation_aborted) if the calling fiber is cancelled or its carrier shuts down,
    // SystemError(ENOTSUP) in a forked process.
    FiberDump fibers(Duration timeout = std::chrono::seconds(1));

    const ResolvedCarrierOptions& options() const noexcept { return options_; }
    // The CPU that a carrier runs on, and its cluster of carriers that share a cache. Throws std::out_of_range.
    const CarrierPlace& place(std::size_t index) const { return places_.at(index); }
    StackPool& stacks() noexcept { return *stacks_; }
    // The threads of weft::blocking(). They end with the group.
    BlockingPool& blockingPool() noexcept { return *blockingPool_; }

    // Reserves `count` consecutive fiber ids, unique in the process, and returns the first. Any thread.
    static std::uint64_t takeFiberIds(std::uint64_t count) noexcept;

  private:
    friend class Carrier;

    Carrier* ownHome() const noexcept;
    Carrier& leastLoaded() noexcept;
    Carrier& place(SpawnOptions& options) noexcept;
    static std::vector<CarrierPlace> placesFor(const ResolvedCarrierOptions& options);
    void formStealGroups();
    void reportUnbound(const Carrier& carrier, int error) noexcept;
    void startCarriers();
    void carrierEnded() noexcept;
    bool awaitCarriers(Deadline deadline);
    void joinCarriers() noexcept;
    bool isOwnCarrier() const noexcept;
    bool isOwnThread() const noexcept;
    void abandon() noexcept;
    void nameStragglers() noexcept;
    void countOutstanding() const noexcept;

    // Wakes the carriers after their clock has moved.
    class ClockWatch final : public ClockListener {
      public:
        explicit ClockWatch(CarrierGroup& group);
        ~ClockWatch();
        ClockWatch(const ClockWatch&) = delete;
        ClockWatch& operator=(const ClockWatch&) = delete;
        void onClockMoved() noexcept override;

      private:
        CarrierGroup& group_;
    };

    const ResolvedCarrierOptions options_;
    const std::vector<CarrierPlace> places_;
    std::atomic<bool> unboundReported_{false};
    const std::uint32_t forkGeneration_;
    StackPool::Owner stacks_;
    std::unique_ptr<BlockingPool> blockingPool_;
    std::vector<std::unique_ptr<detail::StealGroup>> groups_;  // carriers that steal from each other
    std::vector<std::unique_ptr<Carrier>> carriers_;
    std::optional<ClockWatch> clockWatch_;
    std::atomic<unsigned> next_{0};
    std::mutex lock_;  // guards running_
    std::condition_variable ended_;
    std::size_t running_ = 0;
    std::mutex joining_;  // held by the thread that joins the carriers' threads
};

// Starts a fiber on the calling fiber's home carrier; outside of carriers, by CarrierGroup::instance().spawn().
template <class F>
auto spawn(F&& fn, SpawnOptions options = {}) {
    Carrier* here = Carrier::home();
    if (here != nullptr) return here->spawn(std::forward<F>(fn), options);
    return CarrierGroup::instance().spawn(std::forward<F>(fn), options);
}

}  // namespace weft
