// What Weft uses of Asio's implementation. No other file names boost::asio::detail. See docs/adr/0036.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/detail/op_queue.hpp>
#include <boost/asio/detail/scheduler.hpp>
#include <boost/asio/detail/scheduler_thread_info.hpp>
#include <boost/asio/detail/thread_context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/version.hpp>

#if defined(ASIO_STANDALONE)
#error \
    "weft::asio takes Boost.Asio, not the standalone Asio: include <boost/asio.hpp>, and write boost::asio:: for asio::"
#endif
#if BOOST_ASIO_VERSION != 102600 && BOOST_ASIO_VERSION != 102802
#error "weft::asio takes the Asio of Boost 1.81 or Boost 1.83: install one of these, or build without weft::asio"
#endif
// The library and every program that uses it must agree on these.
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT) || defined(BOOST_ASIO_DISABLE_EPOLL) || \
    defined(BOOST_ASIO_DISABLE_THREADS)
#error "weft::asio needs Asio's epoll reactor and its threads: remove the BOOST_ASIO_ macro"
#endif

namespace weft::asio_io::detail {

using AsioScheduler = boost::asio::detail::scheduler;
using AsioReactor = boost::asio::detail::epoll_reactor;
using AsioOperation = boost::asio::detail::scheduler_operation;
using AsioOperations = boost::asio::detail::op_queue<AsioOperation>;

// Asio's per-thread state: whether this thread runs handlers, the small blocks that it keeps for the next operation,
// and the operations that handlers have posted. Asio itself has it only inside io_context::run(). Context: the carrier.
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

    // True when this is the innermost Asio call on the calling thread. Context: any thread.
    bool isCurrent() const noexcept { return top_of_thread_call_stack() == &info_; }

    // The body of io_context::run(): calls the first operation of Asio's queue, or, if there is none, waits in the
    // reactor for one. Returns false when the context is stopped. Passes on the handler's exception. Context: inside
    // Use.
    bool runOne();
    // Whether Asio asks the reactor for events: an io_context does so from its first I/O object on. Until then it
    // waits, if it hasNothingToRun(), where only posts end the wait. Context: the carrier.
    bool asksReactor() const noexcept;
    bool hasNothingToRun() const noexcept;
    // Calls `ready`, taken from posted(), in place of the scheduler. Passes on the handler's exception. Context: inside
    // Use.
    void call(AsioOperation& ready);

    // The posted operation if there is exactly one, else null.
    AsioOperation* onlyPosted() noexcept {
        AsioOperation* const first = info_.private_op_queue.front();
        if (first == nullptr || boost::asio::detail::op_queue_access::next(first) != nullptr) return nullptr;
        return first;
    }
    void takePosted() noexcept { info_.private_op_queue.pop(); }
    // Rethrows the exception of a function that was dispatched meanwhile.
    void rethrowPending() { info_.rethrow_pending_exception(); }

    // Destroys the operations that have been posted.
    void abandonPosted() noexcept { scheduler_.abandon_operations(info_.private_op_queue); }

    AsioThread* next = nullptr;  // for its owner's list

  private:
    // As at the end of io_context::run(), a function's exception that was not rethrown is dropped.
    void dropPending() noexcept {
        try {
            info_.rethrow_pending_exception();
        } catch (...) {
        }
    }
    void handOver() noexcept {
        dropPending();
        for (; info_.private_outstanding_work > 0; --info_.private_outstanding_work) scheduler_.work_started();
        scheduler_.post_deferred_completions(info_.private_op_queue);
    }

    AsioScheduler& scheduler_;
    boost::asio::detail::scheduler_thread_info info_;
};

// An operation of Weft's own, which Asio's queue holds without an allocation. At most once in a queue.
class OwnOperation : public AsioOperation {
  public:
    OwnOperation(const OwnOperation&) = delete;
    OwnOperation& operator=(const OwnOperation&) = delete;

  protected:
    OwnOperation() noexcept : AsioOperation(&OwnOperation::complete) {}
    ~OwnOperation() = default;

    // Context: a thread that runs the context. May throw, as a handler may.
    virtual void called() = 0;
    // In place of called(), when the context is destroyed.
    virtual void dropped() noexcept = 0;

  private:
    static void complete(void* owner, AsioOperation* base, const boost::system::error_code&, std::size_t) {
        auto& self = *static_cast<OwnOperation*>(base);
        owner != nullptr ? self.called() : self.dropped();
    }
};

}  // namespace weft::asio_io::detail
