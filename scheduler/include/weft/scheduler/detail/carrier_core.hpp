// CarrierCore: the part of a carrier that other threads touch: what they submit, its sleep, its stop request, its end.
// docs/protocol.md sections 1 and 7.
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

// What the carrier finds when it leaves a sleep.
enum class SleepEnd : std::uint8_t { notAsleep, byItself, futexWoken, pollerWoken };

template <class P, class Node, std::uint32_t capacity = 256,
          template <class, class, std::uint32_t> class QueueOf = BasicCarrierQueue>
class BasicCarrierCore {
  public:
    using Queue = QueueOf<P, Node, capacity>;

    // `queue`: what the queue's constructor takes.
    template <class... Args>
    explicit BasicCarrierCore(Args&&... queue) : queue_(std::forward<Args>(queue)...) {
        if constexpr (std::is_standard_layout_v<BasicCarrierCore>) {  // NativeAtomics; offsetof() is for no others
            static_assert(offsetof(BasicCarrierCore, visitors_) / cacheLine >
                              offsetof(BasicCarrierCore, readyPoller_) / cacheLine,
                          "wakers write visitors_: it must not be in a line that the carrier reads each turn");
            static_assert(offsetof(BasicCarrierCore, queue_) / cacheLine >
                              offsetof(BasicCarrierCore, visitors_) / cacheLine,
                          "wakers write visitors_: it must not be in a line of the queue");
        }
    }

    // A thread that publishes work and wakes the carrier afterwards. The work itself may let the carrier end and its
    // owner destroy it: the carrier's thread stays until every visit is over.
    class [[nodiscard]] Visit {
      public:
        explicit Visit(BasicCarrierCore& core) noexcept : core_(core) {
            // relaxed: whoever acts on the published work has acquired it, and with it this. [V1]
            core_.visitors_.fetch_add(1, std::memory_order_relaxed);
        }
        ~Visit() { core_.visitors_.fetch_sub(1, std::memory_order_release); }  // [V1] all uses before the end
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;

      private:
        BasicCarrierCore& core_;
    };

    // Any thread, then wake(). False: the carrier is ending and takes no new task, which is the caller's still. One that
    // is on the list keeps the carrier from ending, so that the queue takes it, too.
    template <class Live, class Task>
    [[nodiscard]] bool submitNew(Task& task, Live& live) noexcept {
        return !stopRequested() && live.enlist(task) && queue_.submit(task);  // [L1] in this order
    }
    // As submitNew(), of a task that another carrier may begin.
    template <class Live, class Task>
    [[nodiscard]] bool submitNewStealable(Task& task, Live& live) noexcept {
        return !stopRequested() && live.enlist(task) && queue_.submitStealable(task);  // [L1] in this order
    }
    // Any thread, then wake(): a task of this home has ended on the calling thread, which must not touch it any more.
    template <class Live, class Task>
    void endedElsewhere(Task& task, Live& live) noexcept {
        live.depart(task);
        requestTurn();  // [L2]
    }
    // As submitNew(), for a task that the carrier already counts, so that it cannot end without it.
    [[nodiscard]] bool submit(Node& task) noexcept { return queue_.submit(task); }
    [[nodiscard]] bool submitStealable(Node& task) noexcept { return queue_.submitStealable(task); }
    // The poller's own slot in the run order: full means runnable.
    void submitPoller(Node& poller) noexcept { readyPoller_.store(&poller, std::memory_order_seq_cst); }  // [K1]
    void requestStop() noexcept { stopRequested_.store(true, std::memory_order_seq_cst); }                // [K1]
    bool stopRequested() const noexcept { return stopRequested_.load(std::memory_order_acquire); }
    // One more turn of the carrier, which looks at whatever has changed.
    void requestTurn() noexcept { turnRequested_.store(true, std::memory_order_seq_cst); }  // [K1]
    // After one of these: the kind of sleep that the caller must now end, or none.
    [[nodiscard]] SleepKind wake() noexcept { return park_.wake(); }
    // As wake(), of a carrier that is to help `victim`. [D5]
    [[nodiscard]] SleepKind call(std::uint32_t victim) noexcept { return park_.call(victim); }

    // The rest is the carrier's own.
    Queue& queue() noexcept { return queue_; }
    const Queue& queue() const noexcept { return queue_; }
    auto& sleepWord() noexcept { return park_.word(); }

    void setReadyPoller(Node& poller) noexcept {
        readyPoller_.store(&poller, std::memory_order_relaxed);  // read by this thread next
    }
    Node* takeReadyPoller() noexcept {
        Node* poller = readyPoller_.load(std::memory_order_acquire);  // [K5] with its saved context
        if (poller != nullptr) readyPoller_.store(nullptr, std::memory_order_relaxed);  // only its own wake fills it
        return poller;
    }

    // All the loads are seq_cst [K3]. The running poller's own slot is empty, so a full one is a wake.
    bool hasWork() const noexcept {
        return !queue_.empty() || readyPoller_.load(std::memory_order_seq_cst) != nullptr ||  // [K3]
               (stopRequested_.load(std::memory_order_seq_cst) && !stopping_) ||              // [K3]
               turnRequested_.load(std::memory_order_seq_cst);                              // [K3]
    }

    // True: advertised, and no work after it: the carrier may block. `moreWork` looks at sources that the core does not
    // know, with seq_cst loads [K3].
    template <class MoreWork>
    [[nodiscard]] bool trySleep(SleepKind kind, MoreWork moreWork) noexcept {
        if (hasWork() || moreWork()) return false;  // spares the two exchanges
        park_.advertise(kind);
        sleep_ = kind;
        return !hasWork() && !moreWork();
    }
    // Back to running, after trySleep() whatever it said.
    SleepEnd leaveSleep() noexcept {
        const SleepKind kind = std::exchange(sleep_, SleepKind::none);
        if (kind == SleepKind::none) return SleepEnd::notAsleep;
        const auto ended = park_.leave();
        call_ = ended.call;
        if (!ended.byWaker) return SleepEnd::byItself;
        return kind == SleepKind::poller ? SleepEnd::pollerWoken : SleepEnd::futexWoken;
    }
    // After leaveSleep(), once: who called for help by this wake.
    CalledBy takeCall() noexcept { return std::exchange(call_, CalledBy()); }
    // Between trySleep() and leaveSleep().
    bool sleepAnnounced() const noexcept { return sleep_ != SleepKind::none; }
    // ... and no waker has come yet.
    bool asleepIn(SleepKind kind) const noexcept { return sleep_ == kind && park_.current() == kind; }

    // Once: true when the stop request is new.
    bool beginStop() noexcept {
        if (stopping_ || !stopRequested()) return false;
        return stopping_ = true;
    }
    bool stopping() const noexcept { return stopping_; }
    // Whoever takes it must answer it: a request that is left keeps the carrier awake.
    bool takeTurnRequest() noexcept {
        if (!turnRequested_.load(std::memory_order_relaxed)) return false;  // one that is missed is seen by [K3]
        return turnRequested_.exchange(false, std::memory_order_acquire);  // [K1] what was written before the request
    }
    // After the queue has been closed: whether somebody is still on the way out.
    bool hasVisitors() const noexcept { return visitors_.load(std::memory_order_acquire) != 0; }  // [V1]

  private:
    alignas(cacheLine) BasicParkState<P> park_;
    alignas(cacheLine) typename P::template Atomic<bool> stopRequested_{false};
    typename P::template Atomic<bool> turnRequested_{false};
    typename P::template Atomic<Node*> readyPoller_{nullptr};
    // Every waker writes it twice; the carrier reads the lines before and after it each turn. Its own line: see the
    // constructor.
    alignas(cacheLine) typename P::template Atomic<std::uint32_t> visitors_{0};

    alignas(cacheLine) Queue queue_;
    SleepKind sleep_ = SleepKind::none;  // between trySleep() and leaveSleep()
    CalledBy call_;
    bool stopping_ = false;              // the stop request has been acted on
};

}  // namespace weft::detail
