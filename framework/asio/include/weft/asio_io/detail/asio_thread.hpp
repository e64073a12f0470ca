// AsioThread: what Asio keeps for a thread that runs handlers, for a fiber that starts an operation and for the reactor.
// ReadyOperation, ReadyCalls: operations that are called outside of Asio's own loop.
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
    // Once; frees it. Returns how many handlers it has called: none if no operation waited for the descriptor. Throws
    // what the handler throws. What was posted before must have been taken from the thread.
    std::size_t operator()() const {
        const long before = thread_.private_outstanding_work;
        operation_.complete(&scheduler_, {}, Result::of(operation_));
        thread_.rethrow_pending_exception();
        // Asio makes up in this way for the work that it is about to count off.
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

// Small blocks, which Asio keeps for the next operation, and the operations that were ready when they were started.
// Asio has these for a thread while it runs handlers; fibers start operations outside of that. Context: the carrier.
class AsioThread : private boost::asio::detail::thread_context {
  public:
    explicit AsioThread(AsioScheduler& scheduler) noexcept : scheduler_(scheduler) {
        info_.private_outstanding_work = 0;
    }
    AsioThread(const AsioThread&) = delete;
    AsioThread& operator=(const AsioThread&) = delete;

    // While it lives, Asio takes this thread for one that runs handlers; nothing may wait. What was posted meanwhile is
    // the scheduler's afterwards.
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

    // Of the innermost call of Asio on this thread.
    static AsioThreadInfo& current() noexcept { return static_cast<AsioThreadInfo&>(*top_of_thread_call_stack()); }

    AsioScheduler& scheduler() noexcept { return scheduler_; }
    // This is the innermost call of Asio on the calling thread. Any thread.
    bool isCurrent() const noexcept { return top_of_thread_call_stack() == &info_; }
    // The one operation that was posted; null when there is none, or another.
    AsioOperation* onlyPosted() noexcept {
        AsioOperation* const first = info_.private_op_queue.front();
        if (first == nullptr || boost::asio::detail::op_queue_access::next(first) != nullptr) return nullptr;
        return first;
    }
    void takePosted() noexcept { info_.private_op_queue.pop(); }
    AsioOperations& posted() noexcept { return info_.private_op_queue; }
    // What a function has thrown that was dispatched meanwhile.
    void rethrowPending() { info_.rethrow_pending_exception(); }

    AsioThread* next = nullptr;  // its owner's

  private:
    void handOver() noexcept {
        for (; info_.private_outstanding_work > 0; --info_.private_outstanding_work) scheduler_.work_started();
        scheduler_.post_deferred_completions(info_.private_op_queue);
    }

    AsioScheduler& scheduler_;
    AsioThreadInfo info_;
};

// Calls of ready operations in a row, in place of Asio. Each is work of the scheduler until it was called; Asio counts
// what is posted meanwhile for the thread first, and so does this.
class ReadyCalls {
  public:
    explicit ReadyCalls(AsioScheduler& scheduler) noexcept
        : scheduler_(scheduler), thread_(AsioThread::current()) {}
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
