// AsioThread: Asio's per-thread state, for a fiber that starts an operation and for the reactor. ReadyOperation and
// ReadyCalls: operations that Weft completes outside Asio's own loop.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <boost/asio/detail/op_queue.hpp>
#include <boost/asio/detail/scheduler.hpp>
#include <boost/asio/detail/scheduler_thread_info.hpp>
#include <boost/asio/detail/thread_context.hpp>

namespace weft::asio_io::detail {

using AsioScheduler = boost::asio::detail::scheduler;
using AsioOperation = boost::asio::detail::scheduler_operation;
using AsioOperations = boost::asio::detail::op_queue<AsioOperation>;

using AsioThreadInfo = boost::asio::detail::scheduler_thread_info;

// An operation that Asio has completed, with its handler; or a descriptor that has become ready.
class ReadyOperation {
  public:
    ReadyOperation(AsioOperation& operation, AsioScheduler& scheduler, AsioThreadInfo& thread)
        : operation_(operation), scheduler_(scheduler), thread_(thread) {}
    // Call it once; it frees the operation. Returns the number of handlers called, which is 0 if no operation waited
    // for the descriptor. Passes on the handler's exceptions. Precondition: all operations posted earlier have been
    // taken from the thread.
    std::size_t operator()() const {
        const long before = thread_.private_outstanding_work;
        operation_.complete(&scheduler_, {}, Result::of(operation_));
        thread_.rethrow_pending_exception();
        // When no handler ran, Asio adds a unit of work here to balance the one that it is about to subtract.
        const bool compensated = thread_.private_outstanding_work == before + 1 && thread_.private_op_queue.empty();
        return compensated ? 0 : 1;
    }

  private:
    struct Result : AsioOperation {
        static unsigned of(const AsioOperation& operation) noexcept { return operation.*&Result::task_result_; }
    };

    AsioOperation& operation_;
    AsioScheduler& scheduler_;
    AsioThreadInfo& thread_;
};

// Holds the small blocks that Asio keeps for the next operation, and operations that completed while they were started.
// Asio itself has this state only while a thread runs handlers, but fibers start operations outside of that. Context:
// the carrier.
class AsioThread : private boost::asio::detail::thread_context {
  public:
    explicit AsioThread(AsioScheduler& scheduler) noexcept : scheduler_(scheduler) {
        info_.private_outstanding_work = 0;
    }
    AsioThread(const AsioThread&) = delete;
    AsioThread& operator=(const AsioThread&) = delete;

    // While it exists, Asio treats this thread as one that runs handlers, and nothing may wait. At the end, operations
    // posted meanwhile pass to the scheduler.
    class Use {
      public:
        explicit Use(AsioThread& thread) noexcept : rest_{thread}, entered_(&thread.scheduler_, thread.info_) {}
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        struct Rest {
            ~Rest() { thread.handOver(); }
            AsioThread& thread;
        };
        Rest rest_;
        thread_call_stack::context entered_;
    };

    // The state of the innermost Asio call on this thread.
    static AsioThreadInfo& current() noexcept { return static_cast<AsioThreadInfo&>(*top_of_thread_call_stack()); }

    AsioScheduler& scheduler() noexcept { return scheduler_; }
    // True when this is the innermost Asio call on the calling thread. Context: any thread.
    bool isCurrent() const noexcept { return top_of_thread_call_stack() == &info_; }
    // The posted operation if there is exactly one, else null.
    AsioOperation* onlyPosted() noexcept {
        AsioOperation* const first = info_.private_op_queue.front();
        if (first == nullptr || boost::asio::detail::op_queue_access::next(first) != nullptr) return nullptr;
        return first;
    }
    void takePosted() noexcept { info_.private_op_queue.pop(); }
    AsioOperations& posted() noexcept { return info_.private_op_queue; }
    // Rethrows the exception of a function that was dispatched meanwhile.
    void rethrowPending() { info_.rethrow_pending_exception(); }

    AsioThread* next = nullptr;  // for its owner's list

  private:
    void handOver() noexcept {
        for (; info_.private_outstanding_work > 0; --info_.private_outstanding_work) scheduler_.work_started();
        scheduler_.post_deferred_completions(info_.private_op_queue);
    }

    AsioScheduler& scheduler_;
    AsioThreadInfo info_;
};

// Calls a series of ready operations in place of Asio. Each counts as work of the scheduler until it has been called.
// As in Asio, the destructor first balances this against work that the handlers posted for the thread.
class ReadyCalls {
  public:
    explicit ReadyCalls(AsioScheduler& scheduler) noexcept : scheduler_(scheduler), thread_(AsioThread::current()) {}
    ReadyCalls(const ReadyCalls&) = delete;
    ReadyCalls& operator=(const ReadyCalls&) = delete;
    ~ReadyCalls() {
        thread_.private_outstanding_work -= called_;
        for (; thread_.private_outstanding_work < 0; ++thread_.private_outstanding_work) scheduler_.work_finished();
    }

    ReadyOperation next(AsioOperation& operation) noexcept {
        ++called_;
        return {operation, scheduler_, thread_};
    }
    bool any() const noexcept { return called_ != 0; }

  private:
    AsioScheduler& scheduler_;
    AsioThreadInfo& thread_;
    long called_ = 0;
};

}  // namespace weft::asio_io::detail
