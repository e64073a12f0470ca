// Operations of the context that fibers and threads await with use_fiber. They are cancelled and awaited when the loop
// ends.
#include <utility>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/scheduler/assert.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

namespace {
constexpr std::size_t mostThreadsKept = 256;
}

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
}

Service* Service::of(boost::asio::execution_context& context) {
    return boost::asio::use_service<Mark>(context).served;
}

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
    if (threads_ == nullptr) return std::make_unique<AsioThread>(boost::asio::use_service<AsioScheduler>(context_));
    --threadCount_;
    return std::unique_ptr<AsioThread>(std::exchange(threads_, threads_->next));
}

void Service::giveThread(std::unique_ptr<AsioThread> thread) noexcept {
    if (threadCount_ == mostThreadsKept) return;
    ++threadCount_;
    thread->next = threads_;
    threads_ = thread.release();
}

bool Service::operationsLeft() const noexcept {
    return !operationsHere_.empty() || !remoteOperations_->empty();
}

void Service::forgetOperations() noexcept {
    closing_.store(true, std::memory_order_relaxed);
    operationsHere_.forgetAll();
    remoteOperations_->forgetAll();
}

void Service::beginEnd() noexcept {
    if (ended_) return;
    closing_.store(true, std::memory_order_relaxed);
    operationsHere_.cancelAll();
    remoteOperations_->cancelAll();
    releaseAllRunners(
        std::make_exception_ptr(SystemError(operationAborted(), "asio_io::Context::run: its event loop has ended")));
}

bool Service::closable() noexcept {
    if (!ended_ && closing() && !operationsLeft()) detach();
    return ended_;
}

// A stop() must not keep operations that fibers wait for from completing.
void Service::goOnToTheEnd() noexcept {
    context_.restart();
    beginServing();
}

}  // namespace weft::asio_io::detail
