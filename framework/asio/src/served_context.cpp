#include <weft/asio_io/detail/served_context.hpp>

#include <new>
#include <utility>

#include "service.hpp"

namespace weft::asio_io::detail {

void ExecutorTask::run() noexcept {
    context_.service_->run(*this);
}

void ExecutorTask::abandon() noexcept {
    destroy();
}

ServedContext::ServedContext() : boost::asio::io_context(1) {}

ServedContext::~ServedContext() {
    while (KeptBlock* block = kept_) {
        kept_ = block->next;
        ::operator delete(block, blockSize);
    }
}

void ServedContext::serveOn(EventLoop& loop, bool forLife) {
    loop_ = &loop;
    keptLoop_ = loop.weak_from_this().lock();
    home_ = loop.carrier();
    service_ = std::make_unique<Service>(*this, loop, forLife);
}

void ServedContext::leaveLoop() noexcept {
    const bool runs = service_->leave();
    closed_.store(true, std::memory_order_release);  // [A4]
    if (!runs) return;
    functionsEnd_.waitUninterruptibly(functionsLock_, "asio_io::Context::~Context",
                                      [this] { return functionCount_ == 0; });
}

// Asio's services destroy the handlers waiting in them, which may submit others.
void ServedContext::destroyHandlers() noexcept {
    service_->destroyHeld();
    shutdown();
    service_.reset();
}

void ServedContext::submitSlow(ExecutorTask& task) noexcept {
    if (closed_.load(std::memory_order_acquire)) return task.destroy();  // [A4]
    // Counted, because the loop might otherwise find the context out of work while this task is on its way.
    task.counted_ = true;
    workStarted();
    if (loop_->execute(task)) return;
    task.destroy();
    workFinished();
}

void ServedContext::capture(std::exception_ptr error) noexcept {
    service_->capture(std::move(error));
}

void ServedContext::workStarted() noexcept {
    boost::asio::io_context::get_executor().on_work_started();
}

void ServedContext::workFinished() noexcept {
    boost::asio::io_context::get_executor().on_work_finished();
}

void ServedContext::functionStarted() {
    workStarted();
    const std::lock_guard held(functionsLock_);
    ++functionCount_;
}

void ServedContext::functionEnded() noexcept {
    workFinished();
    functionsEnd_.changeAndWakeAll(functionsLock_, [this] { --functionCount_; });
}

void ServedContext::functionFailed(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const SystemError& ended) {
        if (ended.code() != operationAborted()) service_->fail(error);
    } catch (...) {
        service_->fail(error);
    }
}

}  // namespace weft::asio_io::detail
