// FiberOperation: one Asio operation that a fiber waits for: its result, its memory and its cancellation, all on the
// fiber's stack.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>

#include <weft/asio_io/detail/asio_thread.hpp>
#include <weft/asio_io/detail/served_context.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/this_fiber.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft::asio_io::detail {

// Context: the waiting fiber or thread, unless said otherwise. Stays where it is from begin() to the end of await().
class FiberOperation {
  public:
    FiberOperation() = default;
    ~FiberOperation();
    FiberOperation(const FiberOperation&) = delete;
    FiberOperation& operator=(const FiberOperation&) = delete;

    // Before the operation. False: the loop of its context has ended, and nothing would complete it. Throws
    // BlockingOperationException where nothing may block. `place`: the context of the operation's I/O object, if it is
    // known.
    [[nodiscard]] bool begin(boost::asio::execution_context* place);
    [[nodiscard]] bool begin(ServedContext& place) { return begin(&place.service()); }
    // Waits for the completion. When the fiber is cancelled, its carrier shuts down or the deadline passes, `emit()`
    // makes the cancellation known to the operation, and the wait goes on until that has come back and the operation
    // has completed. Yields when it was ready: a fiber with such operations only would keep the others waiting.
    template <class Emit>
    void await(Deadline deadline, Emit emit) {
        if (wasReady_) return thisFiber::yield();
        const ErrorCode why = waiters_.waitUntil(lock_, deadline, "use_fiber", [this] { return completed_; });
        if (!why) return;
        late_ = why == timedOut();
        emitting_ = true;
        try {
            emit();
        } catch (...) {
            // No memory to pass it on: the operation ends by itself.
        }
        waiters_.waitUninterruptibly(lock_, "use_fiber", [this] { return completed_ && !emitting_; });
    }
    // Its I/O object is of this carrier's Context, so that it may be cancelled from here.
    bool isHere() const noexcept;
    // The deadline has passed, so an aborted operation was late.
    bool late() const noexcept { return late_; }

    // Any thread: the operation's, when it has ended.
    void complete() noexcept;
    // Where the operation runs. Asks it to end; does nothing when it has.
    void emitCancellation() noexcept;
    void emitted() noexcept;  // any thread: emit() is over

    // After begin(): starts with what Asio keeps for its threads, if this is the carrier of the I/O object. Throws
    // std::bad_alloc.
    void startHere();
    AsioThread* thread() const noexcept { return thread_.get(); }  // null: not here
    // Started inside AsioThread::Use, and perhaps ready: completes now if its context runs.
    void completeReady() noexcept;
    // Asio has put `operation` into the memory of this one.
    bool owns(const void* operation) const noexcept { return operation == memory_; }
    boost::asio::cancellation_slot slot() noexcept { return signal_.slot(); }
    // The operation's, one block at a time; others come from the heap. Any thread, one at a time.
    void* allocate(std::size_t size);
    void deallocate(void* block, std::size_t size) noexcept;

  private:
    friend class Service;
    friend class OperationList;

    static constexpr std::size_t memorySize = 512;

    bool begin(Service* service);

    std::mutex lock_;
    WaitList waiters_;
    bool completed_ = false;  // these two under the lock
    bool emitting_ = false;
    bool late_ = false;
    bool here_ = false;  // began on the carrier of its context
    bool wasReady_ = false;  // completed while it was started, by its own fiber
    bool memoryTaken_ = false;
    boost::asio::cancellation_signal signal_;
    std::unique_ptr<AsioThread> thread_;
    Service* service_ = nullptr;  // which cancels it when its loop ends; null: no carrier's
    FiberOperation* previous_ = nullptr;
    FiberOperation* next_ = nullptr;
    alignas(std::max_align_t) std::byte memory_[memorySize];
};

template <class T>
class OperationAllocator {
  public:
    using value_type = T;
    explicit OperationAllocator(FiberOperation& operation) noexcept : operation_(&operation) {}
    template <class U>
    OperationAllocator(const OperationAllocator<U>& other) noexcept : operation_(other.operation_) {}
    T* allocate(std::size_t count) { return static_cast<T*>(operation_->allocate(count * sizeof(T))); }
    void deallocate(T* block, std::size_t count) noexcept { operation_->deallocate(block, count * sizeof(T)); }
    template <class U>
    bool operator==(const OperationAllocator<U>& other) const noexcept {
        return operation_ == other.operation_;
    }

  private:
    template <class U>
    friend class OperationAllocator;
    FiberOperation* operation_;
};

// ... with what it completes with; nothing when its handler was destroyed without a call.
template <class... Args>
struct FiberOperationOf : FiberOperation {
    std::optional<std::tuple<std::decay_t<Args>...>> result;
};

template <class... Args>
class FiberHandler {
  public:
    using allocator_type = OperationAllocator<void*>;
    using cancellation_slot_type = boost::asio::cancellation_slot;

    explicit FiberHandler(FiberOperationOf<Args...>& operation) noexcept : operation_(&operation) {}
    FiberHandler(FiberHandler&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
    FiberHandler& operator=(FiberHandler&&) = delete;
    ~FiberHandler() {
        if (operation_ != nullptr) operation_->complete();
    }

    allocator_type get_allocator() const noexcept { return allocator_type(*operation_); }
    cancellation_slot_type get_cancellation_slot() const noexcept { return operation_->slot(); }
    void operator()(Args... args) {
        FiberOperationOf<Args...>& operation = *std::exchange(operation_, nullptr);
        operation.result.emplace(std::move(args)...);
        operation.complete();
    }

  private:
    FiberOperationOf<Args...>* operation_;
};

// Tells when the emission has run, or has been dropped.
class Emission {
  public:
    explicit Emission(FiberOperation& operation) noexcept : operation_(&operation) {}
    Emission(Emission&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
    Emission& operator=(Emission&&) = delete;
    ~Emission() {
        if (operation_ != nullptr) operation_->emitted();
    }
    void operator()() noexcept { operation_->emitCancellation(); }

  private:
    FiberOperation* operation_;
};

}  // namespace weft::asio_io::detail
