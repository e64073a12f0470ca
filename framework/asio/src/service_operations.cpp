// Operations of the context that fibers and threads await with use_fiber, and functions that run in fibers.
#include <memory>
#include <utility>

#include <weft/asio_io/context.hpp>
#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/asio_io/detail/function_in_fiber.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/carrier.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

namespace {

constexpr std::size_t mostThreadsKept = 256;

// Of the loop that runs on this thread: finds it without the lock under which Asio keeps its services.
thread_local Service* ofThisThread = nullptr;
// Of a Context that has outlived its loop, which ran on this thread: a borrowed carrier goes on without one.
thread_local std::weak_ptr<const RemoteOperations> endedOnThisThread;

// Not inlined, so that no address of a thread-local variable is kept across a wait.
[[gnu::noinline]] Service*& serviceOfThisThread() noexcept {
    return ofThisThread;
}

}  // namespace

// Exists in every io_context that a FiberOperation has used; null in those that no carrier serves.
class Service::Mark final : public boost::asio::execution_context::service {
  public:
    static inline boost::asio::execution_context::id id;

    explicit Mark(boost::asio::execution_context& context) : service(context) {}
    void shutdown() override {}

    Service* served = nullptr;
};

void Service::mark() {
    boost::asio::use_service<Mark>(context_).served = this;
    serviceOfThisThread() = this;
    endedOnThisThread.reset();
}

void Service::unmark(bool loopHasEnded) noexcept {
    serviceOfThisThread() = nullptr;
    if (loopHasEnded) endedOnThisThread = remoteOperations_;
}

Service* Service::here() noexcept {
    Service* const here = serviceOfThisThread();
    return here != nullptr && here->isHere() ? here : nullptr;
}

// Not inlined: as serviceOfThisThread().
[[gnu::noinline]] bool Service::loopHasEndedHere() noexcept {
    return !endedOnThisThread.expired();
}

Service* Service::of(boost::asio::execution_context& context) {
    Service* const here = serviceOfThisThread();
    if (here != nullptr && &here->context_ == &context) return here;
    return boost::asio::use_service<Mark>(context).served;
}

// ---- operations ----

bool Service::operationBegan(FiberOperation& operation) noexcept {
    if (closing()) return false;
    operationsHere_.add(operation);
    return true;
}

void Service::operationEnded(FiberOperation& operation) noexcept {
    WEFT_DEBUG_ASSERT(isHere(), "a fiber has left its carrier inside an operation");
    operationsHere_.remove(operation);
    if (closing() && operationsHere_.empty()) wakeForTheEnd(loop_);
}

std::unique_ptr<AsioThread> Service::takeThread() {
    if (threads_ == nullptr) return std::make_unique<AsioThread>(scheduler_);
    --threadCount_;
    return std::unique_ptr<AsioThread>(std::exchange(threads_, threads_->next));
}

void Service::giveThread(std::unique_ptr<AsioThread> thread) noexcept {
    if (threadCount_ == mostThreadsKept) return;
    ++threadCount_;
    thread->next = threads_;
    threads_ = thread.release();
}

// ---- functions in fibers ----

FunctionInFiber::FunctionInFiber(Service& service) : service_(&service) {
    service_->workStarted();
    const std::lock_guard held(service_->functionsLock_);
    ++service_->functionCount_;
}

FunctionInFiber::~FunctionInFiber() {
    if (service_ == nullptr) return;
    service_->workFinished();
    const std::lock_guard held(service_->functionsLock_);
    --service_->functionCount_;
}

FiberSet& FunctionInFiber::functions() const noexcept {
    return service_->functions_;
}

void FunctionInFiber::failed(const std::exception_ptr& error) const noexcept {
    service_->functionFailed(error);
}

// A wait that ended by cancellation or shutdown is not an error.
void Service::functionFailed(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const SystemError& ended) {
        if (ended.code() != operationAborted()) deliver(error);
    } catch (...) {
        deliver(error);
    }
    releaseRunners();
}

}  // namespace weft::asio_io::detail
