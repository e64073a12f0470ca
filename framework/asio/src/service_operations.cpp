// Operations of the context that fibers and threads wait for with use_fiber: cancelled and awaited when the loop ends.
#include <utility>

#include <weft/asio_io/detail/fiber_operation.hpp>
#include <weft/scheduler/assert.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

namespace {
constexpr std::size_t mostThreadsKept = 256;
}

// Found in every io_context that a FiberOperation has seen; empty in those that no carrier serves.
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

// Those of the carrier's own fibers are the carrier's, and need no lock.
bool Service::operationBegan(FiberOperation& operation) {
    if (isHere()) {
        if (closing_) return false;
        operation.here_ = true;
        operationsHere_.add(operation);
        return true;
    }
    const std::lock_guard held(operationsLock_);
    if (closing_) return false;
    operations_.add(operation);
    return true;
}

void Service::operationEnded(FiberOperation& operation) noexcept {
    if (operation.here_) {
        WEFT_DEBUG_ASSERT(isHere(), "a fiber has left its carrier inside an operation");
        operationsHere_.remove(operation);
        if (closing_ && operationsHere_.empty()) wakeForTheEnd();
        return;
    }
    const std::lock_guard held(operationsLock_);
    operations_.remove(operation);
    if (closing_ && operations_.empty()) wakeForTheEnd();
}

std::unique_ptr<AsioThread> Service::takeThread() {
    if (threads_ == nullptr)
        return std::make_unique<AsioThread>(boost::asio::use_service<AsioScheduler>(context_));
    --threadCount_;
    return std::unique_ptr<AsioThread>(std::exchange(threads_, threads_->next));
}

void Service::giveThread(std::unique_ptr<AsioThread> thread) noexcept {
    if (threadCount_ == mostThreadsKept) return;
    ++threadCount_;
    thread->next = threads_;
    threads_ = thread.release();
}

// The loop asks after each turn whether operations are left.
void Service::wakeForTheEnd() noexcept {
    try {
        loop_.execute([] {});
    } catch (const std::exception&) {
        // It has ended, or there is no memory; then it asks when something else wakes it.
    }
}

bool Service::operationsLeft() const noexcept {
    if (!operationsHere_.empty()) return true;
    const std::lock_guard held(operationsLock_);
    return !operations_.empty();
}

void Service::forgetOperations() noexcept {
    const std::lock_guard held(operationsLock_);
    closing_ = true;
    operationsHere_.forgetAll();
    operations_.forgetAll();
}

void Service::beginEnd() noexcept {
    if (ended_) return;
    {
        const std::lock_guard held(operationsLock_);
        closing_ = true;
        operationsHere_.cancelAll();
        operations_.cancelAll();
    }
    letAllGo(
        std::make_exception_ptr(SystemError(operationAborted(), "asio_io::Context::run: its event loop has ended")));
}

bool Service::closable() noexcept {
    if (!ended_ && closing_ && !operationsLeft()) detach();
    return ended_;
}

// A stop does not keep what fibers wait for from completing.
void Service::goOnToTheEnd() noexcept {
    context_.restart();
    beginServing();
}

}  // namespace weft::asio_io::detail
