// Operations of the context that fibers and threads wait for with use_fiber: cancelled and awaited when the loop ends.
#include <weft/asio_io/detail/fiber_operation.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

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

bool Service::operationBegan(FiberOperation& operation) {
    const std::lock_guard held(operationsLock_);
    if (closing_) return false;
    operation.next_ = operations_;
    if (operations_ != nullptr) operations_->previous_ = &operation;
    operations_ = &operation;
    return true;
}

void Service::operationEnded(FiberOperation& operation) noexcept {
    const std::lock_guard held(operationsLock_);
    (operation.previous_ != nullptr ? operation.previous_->next_ : operations_) = operation.next_;
    if (operation.next_ != nullptr) operation.next_->previous_ = operation.previous_;
    if (closing_ && operations_ == nullptr) wakeForTheEnd();
}

std::unique_ptr<RecycledMemory> Service::takeMemory() {
    if (memories_ == nullptr) return std::make_unique<RecycledMemory>();
    std::unique_ptr<RecycledMemory> first = std::move(memories_);
    memories_ = std::move(first->next);
    return first;
}

void Service::giveMemory(std::unique_ptr<RecycledMemory> memory) noexcept {
    memory->next = std::move(memories_);
    memories_ = std::move(memory);
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
    const std::lock_guard held(operationsLock_);
    return operations_ != nullptr;
}

void Service::forgetOperations() noexcept {
    const std::lock_guard held(operationsLock_);
    closing_ = true;
    while (FiberOperation* const operation = operations_) {
        operations_ = operation->next_;
        operation->service_ = nullptr;
    }
}

void Service::beginEnd() noexcept {
    if (ended_) return;
    {
        const std::lock_guard held(operationsLock_);
        closing_ = true;
        for (FiberOperation* operation = operations_; operation != nullptr; operation = operation->next_)
            operation->emitCancellation();
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
