// BasicQueue: the core of sync::BoundedQueue and sync::UnboundedQueue: values, and the callers that wait to send or to
// receive. docs/explanation/protocol.md section 20, docs/adr/0026.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <weft/scheduler/detail/waiter_queue.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::detail {

enum class QueueStatus : std::uint8_t { done, wouldWait, closed };

// S: the waits, the deadlines and the lock. Storage holds the values in order:
//     bool full() const; bool empty() const; std::size_t size() const;
//     bool needsReserve() const;              // the next push() would have to allocate
//     static Reserve allocate();              // without the lock; may throw
//     void push(T&&, Reserve&) noexcept;      // takes the reserve if it needs it
//     T pop(Reserve& freed) noexcept;         // may put memory there that is to be freed without the lock
// The lock guards everything. While receivers wait, the storage is empty; while senders wait, it is full. A waiter
// takes the lock before it returns; until then the thread that has ended its wait may use the queue and the waiter's
// value. Except a sender whose wait the queue has ended: the receiver of its value may have destroyed the queue, so it
// waits for `settled` instead.
template <class S, class T, class Storage>
class BasicQueue {
    using Wait = typename S::Wait;
    using Until = typename S::Until;
    using Reserve = typename Storage::Reserve;

    struct SendRequest {
        T* value = nullptr;
        QueueStatus status = QueueStatus::done;  // or closed
        // The last access of the thread that has ended the wait. Writer: that thread, once; reader: the sender.
        typename S::template Atomic<bool> settled{false};
    };
    struct ReceiveRequest {
        std::optional<T>* out = nullptr;
    };
    using Senders = BasicWaiterQueue<Wait, SendRequest, S>;
    using Receivers = BasicWaiterQueue<Wait, ReceiveRequest, S>;

  public:
    using Sender = typename Senders::Waiter;
    using Receiver = typename Receivers::Waiter;

    template <class... Args>
    explicit BasicQueue(Args&&... args) : values_(std::forward<Args>(args)...) {}

    // Moves from `value` if it is sent, and only then. Throws what Storage::allocate() throws.
    QueueStatus trySend(T& value) {
        Woken woken;
        Reserve reserve;
        const QueueStatus status = sendNow(value, reserve, woken, [] {});
        woken.resume();
        return status;
    }
    // As trySend(), and closes the queue in the same step if the value is sent.
    QueueStatus trySendLast(T& value) {
        Woken woken;
        Reserve reserve;
        const QueueStatus status = sendNow(
            value, reserve, woken, [] {}, true);
        woken.resume();
        return status;
    }
    // Waits while the queue is full. Moves from `value` if it is sent, and only then. Errors: closed (EPIPE),
    // timedOut(), operationAborted(). Throws as trySend(), and BlockingOperationException, which names `call`, where
    // nothing may block.
    [[gnu::noinline]] ErrorCode sendSlow(T& value, Until until, const char* call) {
        Sender sender;
        sender.value = &value;
        Wait wait(call);
        Woken woken;
        Reserve reserve;
        const QueueStatus status = sendNow(value, reserve, woken, [&] {
            sender.key = wait.key();
            senders_.append(sender);
        });
        woken.resume();
        if (status != QueueStatus::wouldWait) return errorFor(status);
        const WakeReason why = wait.park(until);
        withdraw(sender, why == WakeReason::resource);
        return why == WakeReason::resource ? errorFor(sender.status) : errorOf(why);
    }

    // Puts the oldest value into `out`. `closed`: the queue is closed and empty.
    QueueStatus tryReceive(std::optional<T>& out) {
        QueueStatus status = QueueStatus::closed;
        std::optional<T> value = takeOr([&status] {
            status = QueueStatus::wouldWait;
            return std::optional<T>();
        });
        if (!value) return status;
        out.emplace(std::move(*value));
        return QueueStatus::done;
    }
    // Returns the oldest value; nothing if the queue is closed and empty; if it is only empty, what `otherwise`
    // returns. Each path makes the result in its place: GCC would write a small optional that it copies in parts and
    // read it as a whole, for which the processor waits.
    template <class Otherwise>
    std::optional<T> takeOr(Otherwise otherwise) {
        Woken woken;
        Reserve freed;
        {
            std::unique_lock held(lock_);
            if (!values_.empty()) {
                T value = takeFirst(freed, woken);
                held.unlock();
                woken.resume();
                return std::optional<T>(std::move(value));
            }
            if (closed_) return std::nullopt;
        }
        return otherwise();
    }
    // Waits while the queue is empty. Without an error, `out` has a value, or the queue is closed and empty. Errors:
    // timedOut(), operationAborted(). Throws BlockingOperationException, which names `call`, where nothing may block.
    [[gnu::noinline]] ErrorCode receiveSlow(std::optional<T>& out, Until until, const char* call) {
        Receiver receiver;
        receiver.out = &out;
        Wait wait(call);
        Woken woken;
        Reserve freed;
        const QueueStatus status = receiveNow(out, freed, woken, [&] {
            receiver.key = wait.key();
            receivers_.append(receiver);
        });
        woken.resume();
        if (status != QueueStatus::wouldWait) return {};
        const WakeReason why = wait.park(until);
        withdraw(receiver, why == WakeReason::resource);
        return why == WakeReason::resource ? ErrorCode() : errorOf(why);
    }

    // The halves of a wait, for a caller that waits for several things. enlist() returns false if trySend() or
    // tryReceive() would not return `wouldWait`. Otherwise the waiter, whose key and request are set, is in the queue;
    // the caller must call withdraw() when its wait has ended, whatever ended it. `ended`: the waiter's key ended it;
    // a sender then does not use the queue any more.
    [[nodiscard]] bool enlist(Sender& sender) {
        std::lock_guard held(lock_);
        if (closed_ || !values_.full()) return false;
        senders_.append(sender);
        return true;
    }
    [[nodiscard]] bool enlist(Receiver& receiver) {
        std::lock_guard held(lock_);
        if (closed_ || !values_.empty()) return false;
        receivers_.append(receiver);
        return true;
    }
    void withdraw(Sender& sender, bool ended) noexcept {
        if (!ended) return leave(senders_, sender);
        typename S::Pause pause;
        while (!sender.settled.load(std::memory_order_acquire)) pause();  // [Y3]
    }
    void withdraw(Receiver& receiver, bool) noexcept { leave(receivers_, receiver); }

    // Ends the waits of all senders, which keep their values, and of all receivers. Values in the queue can still be
    // received. False if it was closed before.
    bool close() noexcept {
        Woken woken;
        {
            std::lock_guard held(lock_);
            if (closed_) return false;
            closeLocked(woken);
        }
        woken.resume();
        return true;
    }

    bool isClosed() const {
        std::lock_guard held(lock_);
        return closed_;
    }
    std::size_t size() const {
        std::lock_guard held(lock_);
        return values_.size();
    }
    std::size_t waitingSenders() const {
        std::lock_guard held(lock_);
        return senders_.size();
    }
    std::size_t waitingReceivers() const {
        std::lock_guard held(lock_);
        return receivers_.size();
    }

  private:
    struct Woken {
        void resume() noexcept {
            senders.resume();
            receivers.resume();
        }
        typename Senders::Woken senders;
        typename Receivers::Woken receivers;
    };

    // If it would have to wait, calls `queue()` under the lock.
    template <class Enqueue>
    QueueStatus sendNow(T& value, Reserve& reserve, Woken& woken, Enqueue enqueue, bool last = false) {
        for (;;) {
            {
                std::lock_guard held(lock_);
                if (closed_) return QueueStatus::closed;
                const bool handed = handToReceiver(value, woken);
                if (!handed && values_.full()) {
                    enqueue();
                    return QueueStatus::wouldWait;
                }
                if (handed || reserve || !values_.needsReserve()) {
                    if (!handed) values_.push(std::move(value), reserve);
                    if (last) closeLocked(woken);
                    return QueueStatus::done;
                }
            }
            reserve = Storage::allocate();
        }
    }
    bool handToReceiver(T& value, Woken& woken) noexcept {
        while (Receiver* const first = receivers_.first()) {
            receivers_.remove(*first);
            if (!Receivers::end(*first, woken.receivers)) continue;
            first->out->emplace(std::move(value));  // [Y2] it takes the lock before it looks
            return true;
        }
        return false;
    }

    template <class Enqueue>
    QueueStatus receiveNow(std::optional<T>& out, Reserve& freed, Woken& woken, Enqueue enqueue) {
        std::lock_guard held(lock_);
        if (values_.empty()) {
            if (closed_) return QueueStatus::closed;
            enqueue();
            return QueueStatus::wouldWait;
        }
        out.emplace(takeFirst(freed, woken));
        return QueueStatus::done;
    }
    void closeLocked(Woken& woken) noexcept {
        closed_ = true;
        Senders::endAll(senders_.takeAll(), woken.senders, [](Sender& sender) {
            sender.status = QueueStatus::closed;
            sender.settled.store(true, std::memory_order_relaxed);  // before the claim, which publishes both (T1)
        });
        Receivers::endAll(receivers_.takeAll(), woken.receivers);
    }
    T takeFirst(Reserve& freed, Woken& woken) noexcept {
        T value = values_.pop(freed);
        takeFromSender(freed, woken);
        return value;
    }
    // A value has been taken, so one that waits has a place.
    void takeFromSender(Reserve& reserve, Woken& woken) noexcept {
        while (Sender* const first = senders_.first()) {
            senders_.remove(*first);
            if (!Senders::end(*first, woken.senders)) continue;
            values_.push(std::move(*first->value), reserve);
            first->settled.store(true, std::memory_order_release);  // [Y3]
            return;
        }
    }

    template <class Queue>
    void leave(Queue& queue, typename Queue::Waiter& waiter) noexcept {
        std::lock_guard held(lock_);  // [Y2]
        queue.remove(waiter);
    }
    static ErrorCode errorFor(QueueStatus status) noexcept {
        return status == QueueStatus::closed ? fromErrno(EPIPE) : ErrorCode();
    }

    mutable typename S::ShortLock lock_;
    typename S::template Plain<bool> closed_{false};
    Storage values_;
    Senders senders_;
    Receivers receivers_;
};

}  // namespace weft::detail
