#include <weft/asio_io/detail/asio_internals.hpp>

#include <type_traits>

namespace weft::asio_io::detail {

namespace {

struct Queue {
    bool asksReactor;  // the reactor's turn is in the queue, or runs
    bool isEmpty;
};

// io_context::run_one() makes a thread's state anew in each call, which costs 900 instructions and the kept blocks;
// io_context::run() cannot be left. What both call is private, so its address is passed to a template here: access is
// not checked in an explicit instantiation ([temp.spec.general]).
std::size_t runOneOf(AsioScheduler& scheduler, boost::asio::detail::scheduler_thread_info& thread);
Queue queueOf(AsioScheduler& scheduler);

template <auto RunOne, auto Mutex>
std::size_t runOneBy(AsioScheduler& scheduler, boost::asio::detail::scheduler_thread_info& thread) {
    typename std::remove_cvref_t<decltype(scheduler.*Mutex)>::scoped_lock held(scheduler.*Mutex);
    return (scheduler.*RunOne)(held, thread, boost::system::error_code());
}

template <auto Mutex, auto Task, auto Operations>
Queue queueBy(AsioScheduler& scheduler) {
    typename std::remove_cvref_t<decltype(scheduler.*Mutex)>::scoped_lock held(scheduler.*Mutex);
    return {scheduler.*Task != nullptr, (scheduler.*Operations).empty()};
}

template <auto RunOne, auto Mutex, auto Task, auto Operations>
struct SchedulerMembers {
    friend std::size_t runOneOf(AsioScheduler& scheduler, boost::asio::detail::scheduler_thread_info& thread) {
        return runOneBy<RunOne, Mutex>(scheduler, thread);
    }
    friend Queue queueOf(AsioScheduler& scheduler) { return queueBy<Mutex, Task, Operations>(scheduler); }
};
template struct SchedulerMembers<&AsioScheduler::do_run_one, &AsioScheduler::mutex_, &AsioScheduler::task_,
                                 &AsioScheduler::op_queue_>;

}  // namespace

bool AsioThread::runOne() {
    try {
        return runOneOf(scheduler_, info_) != 0;
    } catch (...) {
        dropPending();
        throw;
    }
}

bool AsioThread::asksReactor() const noexcept {
    return queueOf(scheduler_).asksReactor;
}

bool AsioThread::hasNothingToRun() const noexcept {
    return queueOf(scheduler_).isEmpty;
}

// As in Asio, work that the handler posted for this thread is balanced against the unit that it has finished.
void AsioThread::call(AsioOperation& ready) {
    struct Finished {
        ~Finished() {
            if (--thread.info_.private_outstanding_work >= 0) return;
            thread.info_.private_outstanding_work = 0;
            thread.scheduler_.work_finished();
        }
        AsioThread& thread;
    };
    const Finished finished{*this};
    ready.complete(&scheduler_, {}, 0);
    info_.rethrow_pending_exception();
}

}  // namespace weft::asio_io::detail
