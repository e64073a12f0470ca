// FiberOperation: one Asio operation that a fiber waits for. Its result, memory and cancellation state are on the
// fiber's stack.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/experimental/channel_error.hpp>

#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/wait_list.hpp>

namespace weft::asio_io::detail {

class RemoteOperations;
class Service;

// Context: the waiting fiber or thread, unless stated otherwise. Must not move from begin() to the end of await().
class FiberOperation {
  public:
    FiberOperation() = default;
    ~FiberOperation();
    FiberOperation(const FiberOperation&) = delete;
    FiberOperation& operator=(const FiberOperation&) = delete;

    // Call it before the operation starts. Returns false when the context's loop has ended, so that nothing would
    // complete the operation. Throws BlockingOperationException where nothing may block. `place` is the context of the
    // operation's I/O object, or null if unknown: then the loop of the calling fiber's carrier ends it.
    [[nodiscard]] bool begin(boost::asio::execution_context* place);
    // Waits for the completion. When the fiber is cancelled, its carrier shuts down or the deadline passes, `emit()`
    // requests cancellation of the operation; the wait continues until both the request and the operation have
    // completed. Yields if the operation was ready at once, because a fiber that only starts such operations would
    // starve the others.
    template <class Emit>
    void await(Deadline deadline, Emit emit) {
        if (wasReady_) return yieldHere();
        const bool endsLate = remoteOperations_ != nullptr && missesTheEnd();
        const ErrorCode why = endsLate
                                  ? operationAborted()
                                  : waiters_.waitUntil(lock_, deadline, "use_fiber", [this] { return completed_; });
        if (!why) return;
        why_ = why;
        emitting_ = true;
        try {
            emit();
        } catch (...) {
            // No memory for the request: the operation ends without cancellation.
        }
        waiters_.waitUninterruptibly(lock_, "use_fiber", [this] { return completed_ && !emitting_; });
    }
    // Also of a fiber that other carriers may steal: an operation ends on its carrier.
    static void yieldHere();
    // The I/O object belongs to this carrier's Context, so the operation may be cancelled from here.
    bool isHere() const noexcept { return here_; }
    // The context has ended while the operation was waited for on its carrier.
    bool outlivedItsContext() const noexcept;
    // The error of a cancelled operation, as its fiber sees it: why the wait ended, if that requested the cancellation.
    ErrorCode asSeen(ErrorCode error) const noexcept { return why_ && isCancellation(error) ? why_ : error; }
    std::exception_ptr asSeen(std::exception_ptr error) const;

    // Called when the operation has ended. Context: any thread.
    void complete() noexcept;
    // Requests cancellation; does nothing when the operation has ended. Context: where the operation runs.
    void emitCancellation() noexcept;
    void emitted() noexcept;  // any thread: emit() has finished

    // After begin(): if the I/O object belongs to this carrier, starts the operation with Asio's per-thread state.
    // Throws std::bad_alloc.
    void startHere();
    AsioThread* thread() const noexcept { return thread_.get(); }  // null: not on this carrier
    // For an operation started inside AsioThread::Use that may be ready: completes it now if its context runs. Then
    // call started() outside of that.
    void completeReady() noexcept;
    void started() noexcept;
    // True when Asio placed `operation` in this object's memory.
    bool owns(const void* operation) const noexcept { return operation == memory_; }
    boost::asio::cancellation_slot slot() noexcept { return signal_.slot(); }
    // One block at a time is in this object; further blocks come from the heap. Context: any thread, one at a time.
    void* allocate(std::size_t size);
    void deallocate(void* block, std::size_t size) noexcept;

  private:
    friend class OperationList;
    friend class RemoteOperations;

    static constexpr std::size_t memorySize = 512;

    static bool isCancellation(ErrorCode error) noexcept {
        return error == operationAborted() || error == boost::asio::experimental::error::channel_cancelled;
    }
    // For an operation of another thread's loop, once it has been started. True: that loop has begun to end meanwhile,
    // when the operation could not be cancelled yet.
    bool missesTheEnd() noexcept;

    std::mutex lock_;
    WaitList waiters_;
    bool completed_ = false;  // guarded by lock_, as is emitting_
    bool emitting_ = false;
    ErrorCode why_;          // the reason of the wait's end, if it ended before the operation
    bool here_ = false;      // begun on the carrier of its context
    bool wasReady_ = false;  // its own fiber completed it while starting it
    bool memoryTaken_ = false;
    boost::asio::cancellation_signal signal_;
    std::unique_ptr<AsioThread> thread_;
    // What cancels it when its loop ends: the first if it is here, else the second; neither if its context has no
    // carrier.
    Service* service_ = nullptr;
    std::shared_ptr<RemoteOperations> remoteOperations_;
    bool starting_ = false;  // guarded by remoteOperations_: only its own thread may touch signal_
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

// A FiberOperation with its completion arguments; they are absent when the handler was destroyed without a call.
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

// Runs the cancellation once; reports to the operation when it has run or was dropped.
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
