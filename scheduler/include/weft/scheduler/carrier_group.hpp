// CarrierGroup: the carriers of one configuration. A process may have several; each owns its threads, stacks and
// timers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/carrier_options.hpp>

namespace weft {

// Everything is constructed before the first thread starts (W1), and every thread is joined before the destructor
// returns (W11). Carrier threads block every signal that may be sent to the process (all but SIGPROF and those that a
// thread causes itself): handlers run on the program's own threads. A child process that a fiber starts inherits this
// mask, as any child does: give it its own (POSIX_SPAWN_SETSIGMASK).
//
// fork() copies the calling thread only, so the child has no carriers. There shutdown() and the destructor return at
// once, after a warning; spawn() and JoinHandle::join() throw SystemError(ENOTSUP). A fiber that calls fork() goes on in
// the child as a plain thread, which must end by exec(), exit() or _exit().
class CarrierGroup {
  public:
    // Throws ConfigurationError for a bad option or environment variable, SystemError when the kernel refuses threads,
    // memory or descriptors (nothing is left behind then).
    explicit CarrierGroup(const CarrierOptions& options = {});
    // shutdown(), for as long as it takes; fibers that ignore it are named in the log every 5 seconds. Context: a plain
    // thread that no other thread's shutdown() of this group overlaps. On a carrier of this group, where it could never
    // return, it says so in the log and aborts: exit() in a fiber does that to a group with static storage duration.
    ~CarrierGroup();
    CarrierGroup(const CarrierGroup&) = delete;
    CarrierGroup& operator=(const CarrierGroup&) = delete;

    // The lazily made default group; lives until the process ends, and is shut down by exit(). exit() in one of its own
    // fibers ends the process with that status and without waiting for the other fibers, after a warning.
    static CarrierGroup& instance();

    std::size_t size() const noexcept { return carriers_.size(); }
    Carrier& carrier(std::size_t index) { return *carriers_.at(index); }  // throws std::out_of_range
    // The calling fiber's home carrier, or the calling thread's, if it is one of this group. Else the one whose turn it is,
    // or another one, by chance, that has fewer fibers waiting. Any thread.
    Carrier& next() noexcept;

    // Starts a fiber on next(): see Carrier::spawn.
    template <class F>
    auto spawn(F&& fn, SpawnOptions options = {}) {
        return next().spawn(std::forward<F>(fn), options);
    }

    // Asks every carrier to end: spawns are refused, pollers are asked to return, every parked fiber's wait ends with
    // operation_aborted and so does every later wait. Any thread; returns at once.
    void beginShutdown() noexcept;
    // beginShutdown(), then waits until every fiber and poller has ended and joins the threads. False when `timeout`
    // passed first: the log names who is still running, and the call may be repeated. Context: any number of plain
    // threads at once (throws BlockingOperationException on a carrier of this group).
    bool shutdown(Duration timeout);

    // True in a process that was forked from the one that made this group. Any thread.
    bool forked() const noexcept;

    const ResolvedCarrierOptions& options() const noexcept { return options_; }
    // Where a carrier runs, and whom it shares a cache with. Throws std::out_of_range.
    const CarrierPlace& place(std::size_t index) const { return places_.at(index); }
    StackPool& stacks() noexcept { return *stacks_; }

    // Ids for fibers: unique in the process.
    static std::uint64_t takeFiberIds(std::uint64_t count) noexcept;

  private:
    friend class Carrier;

    static std::vector<CarrierPlace> placesFor(const ResolvedCarrierOptions& options);
    void formCrews();
    void reportUnbound(const Carrier& carrier, int error) noexcept;
    void startCarriers();
    void carrierEnded() noexcept;
    bool awaitCarriers(Deadline deadline);
    void joinCarriers() noexcept;
    bool isOwnCarrier() const noexcept;
    void abandon() noexcept;
    void nameStragglers() noexcept;
    void countOutstanding() const noexcept;

    const ResolvedCarrierOptions options_;
    const std::vector<CarrierPlace> places_;
    std::atomic<bool> unboundReported_{false};
    const std::uint32_t forkGeneration_;
    StackPool::Owner stacks_;
    std::vector<std::unique_ptr<detail::StealCrew>> crews_;  // those who help each other
    std::vector<std::unique_ptr<Carrier>> carriers_;
    std::atomic<unsigned> next_{0};
    std::mutex lock_;  // guards running_
    std::condition_variable ended_;
    std::size_t running_ = 0;
    std::mutex joining_;  // held by the thread that joins the carriers' threads
};

// Starts a fiber on the calling fiber's home carrier; outside of carriers, on the default group's next one.
template <class F>
auto spawn(F&& fn, SpawnOptions options = {}) {
    Carrier* here = Carrier::home();
    return (here ? *here : CarrierGroup::instance().next()).spawn(std::forward<F>(fn), options);
}

}  // namespace weft
