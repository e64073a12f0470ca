// CarrierCore: the part of a carrier that other threads use: its queue, its sleep state, its stop request, its end.
// docs/explanation/protocol.md sections 1 and 7.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <weft/scheduler/detail/atomics.hpp>
#include <weft/scheduler/detail/carrier_queue.hpp>
#include <weft/scheduler/detail/park_state.hpp>

namespace weft::detail {

// How a sleep ended.
enum class SleepEnd : std::uint8_t { notAsleep, byItself, futexWoken, pollerWoken };

template <class P, class Node, std::uint32_t capacity = 256,
          template <class, class, std::uint32_t> class QueueOf = BasicCarrierQueue>
class BasicCarrierCore {
  public:
    using Queue = QueueOf<P, Node, capacity>;

    // `queue`: the arguments of the queue's constructor.
    template <class... Args>
    explicit BasicCarrierCore(Args&&... queue) : queue_(std::forward<Args>(queue)...) {
        if constexpr (std::is_standard_layout_v<BasicCarrierCore>) {  // NativeAtomics: offsetof() requires it
            static_assert(offsetof(BasicCarrierCore, submitters_) / cacheLine >
                              offsetof(BasicCarrierCore, readyPoller_) / cacheLine,
                          "wakers write submitters_: it must not be in a line that the carrier reads each turn");
            static_assert(
                offsetof(BasicCarrierCore, queue_) / cacheLine > offsetof(BasicCarrierCore, submitters_) / cacheLine,
                "wakers write submitters_: it must not be in a line of the queue");
        }
    }

    // Held by a thread that publishes work and then wakes the carrier. The work itself may let the carrier end and its
    // owner destroy it between the two steps. The carrier's thread does not end until every guard has been destroyed.
    class [[nodiscard]] SubmitGuard {
      public:
        explicit SubmitGuard(BasicCarrierCore& core) noexcept : core_(core) {
            // relaxed: a thread that acts on the published work has acquired it, and this increment with it. [V1]
            core_.submitters_.fetch_add(1, std::memory_order_relaxed);
        }
        ~SubmitGuard() { core_.submitters_.fetch_sub(1, std::memory_order_release); }  // [V1] all uses before the end
        SubmitGuard(const SubmitGuard&) = delete;
        SubmitGuard& operator=(const SubmitGuard&) = delete;

      private:
        BasicCarrierCore& core_;
    };

    // Submits a new task; call wake() afterwards. Any thread. False: the carrier is ending, and the caller keeps the
    // task. A task on the live list keeps the carrier from ending, so after enlist() the queue accepts it, too.
    template <class Live, class Task>
    [[nodiscard]] bool submitNew(Task& task, Live& live) noexcept {
        return !stopRequested() && live.enlist(task) && queue_.submit(task);  // [L1] in this order
    }
    // As submitNew(), for a task that another carrier may start.
    template <class Live, class Task>
    [[nodiscard]] bool submitNewStealable(Task& task, Live& live) noexcept {
        return !stopRequested() && live.enlist(task) && queue_.submitStealable(task);  // [L1] in this order
    }
    // Reports that a task of this home has ended on the calling thread, which must not touch the task afterwards; call
    // wake() afterwards. Any thread.
    template <class Live, class Task>
    void endedRemotely(Task& task, Live& live) noexcept {
        live.depart(task);
        requestTurn();  // [L2]
    }
    // As submitNew(), for a task that is on the live list already, so that the carrier cannot end before it.
    [[nodiscard]] bool submit(Node& task) noexcept { return queue_.submit(task); }
    [[nodiscard]] bool submitStealable(Node& task) noexcept { return queue_.submitStealable(task); }
    // Claims the slot of a poller: `closed` also for a carrier that shuts down. Any thread.
    template <class Gate>
    [[nodiscard]] typename Gate::Claimed claimPoller(Gate& gate) noexcept {
        return stopRequested() ? Gate::Claimed::closed : gate.claim();
    }
    // Makes the poller runnable: fills its slot.
    void submitPoller(Node& poller) noexcept { readyPoller_.store(&poller, std::memory_order_seq_cst); }  // [K1]
    void requestStop() noexcept { stopRequested_.store(true, std::memory_order_seq_cst); }                // [K1]
    bool stopRequested() const noexcept { return stopRequested_.load(std::memory_order_acquire); }
    // Requests one more turn of the carrier, in which it checks for changes. An exchange, so that the carrier acquires
    // from each requester, not from the last one only. [K1]
    void requestTurn() noexcept { turnRequested_.exchange(true, std::memory_order_seq_cst); }
    // Call it after one of the above. Returns the kind of sleep that the caller must now end, or `none`.
    [[nodiscard]] SleepKind wake() noexcept { return park_.wake(); }
    // The sleep that the carrier has announced and that has not ended; may be outdated. Any thread.
    [[nodiscard]] SleepKind announcedSleep() const noexcept { return park_.current(); }
    // As wake(), and tells the carrier to help `victim`. [D5]
    [[nodiscard]] SleepKind call(std::uint32_t victim) noexcept { return park_.call(victim); }

    // Context of everything below: the carrier's thread.
    Queue& queue() noexcept { return queue_; }
    const Queue& queue() const noexcept { return queue_; }
    auto& sleepWord() noexcept { return park_.word(); }

    void setReadyPoller(Node& poller) noexcept {
        readyPoller_.store(&poller, std::memory_order_relaxed);  // read by this thread next
    }
    Node* takeReadyPoller() noexcept {
        Node* poller = readyPoller_.load(std::memory_order_acquire);                    // [K5] with its saved context
        if (poller != nullptr) readyPoller_.store(nullptr, std::memory_order_relaxed);  // only its own wake fills it
        return poller;
    }

    // All loads are seq_cst [K3]. The slot of a running poller is empty, so a full slot means that it was woken.
    bool hasWork() const noexcept {
        return !queue_.empty() || readyPoller_.load(std::memory_order_seq_cst) != nullptr ||  // [K3]
               (stopRequested_.load(std::memory_order_seq_cst) && !stopping_) ||              // [K3]
               turnRequested_.load(std::memory_order_seq_cst);                                // [K3]
    }

    // Announces a sleep and checks for work again. True: no work, the carrier may block. `moreWork` checks sources of
    // work that the core does not know, with seq_cst loads [K3].
    template <class MoreWork>
    [[nodiscard]] bool trySleep(SleepKind kind, MoreWork moreWork) noexcept {
        if (hasWork() || moreWork()) return false;  // saves the two exchanges
        park_.advertise(kind);
        sleep_ = kind;
        return !hasWork() && !moreWork();
    }
    // Ends the announced sleep. Call it after trySleep(), whatever that returned.
    SleepEnd leaveSleep() noexcept {
        const SleepKind kind = std::exchange(sleep_, SleepKind::none);
        if (kind == SleepKind::none) return SleepEnd::notAsleep;
        const auto ended = park_.leave();
        call_ = ended.call;
        if (!ended.byWaker) return SleepEnd::byItself;
        return kind == SleepKind::poller ? SleepEnd::pollerWoken : SleepEnd::futexWoken;
    }
    // Call it once after leaveSleep(): the carrier that called for help by this wake, if one did.
    CalledBy takeCall() noexcept { return std::exchange(call_, CalledBy()); }
    // True between trySleep() and leaveSleep().
    bool sleepAnnounced() const noexcept { return sleep_ != SleepKind::none; }
    // True between trySleep() and leaveSleep() while no waker has ended the sleep.
    bool asleepIn(SleepKind kind) const noexcept { return sleep_ == kind && park_.current() == kind; }

    // True once: on the first call after the stop request.
    bool beginStop() noexcept {
        if (stopping_ || !stopRequested()) return false;
        return stopping_ = true;
    }
    bool stopping() const noexcept { return stopping_; }
    // The caller must answer the request that it takes. A request that is not taken keeps the carrier awake.
    bool takeTurnRequest() noexcept {
        if (!turnRequested_.load(std::memory_order_relaxed)) return false;  // [K3] finds one that this load misses
        return turnRequested_.exchange(false, std::memory_order_acquire);   // [K1] what was written before the request
    }
    // After the queue has been closed: true while a thread still holds a SubmitGuard.
    bool hasSubmitters() const noexcept { return submitters_.load(std::memory_order_acquire) != 0; }  // [V1]

  private:
    alignas(cacheLine) BasicParkState<P> park_;
    alignas(cacheLine) typename P::template Atomic<bool> stopRequested_{false};
    typename P::template Atomic<bool> turnRequested_{false};
    typename P::template Atomic<Node*> readyPoller_{nullptr};
    // Every waker writes this twice. It has its own cache line (see the constructor), because the carrier reads the
    // lines before and after it in every turn.
    alignas(cacheLine) typename P::template Atomic<std::uint32_t> submitters_{0};

    alignas(cacheLine) Queue queue_;
    SleepKind sleep_ = SleepKind::none;  // between trySleep() and leaveSleep()
    CalledBy call_;
    bool stopping_ = false;  // the carrier has begun to act on the stop request
};

}  // namespace weft::detail
