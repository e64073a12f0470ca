#include "remote_operations.hpp"

#include <exception>

namespace weft::asio_io::detail {

void wakeForTheEnd(EventLoop& loop) noexcept {
    try {
        loop.execute([] {});
    } catch (const std::exception&) {
        // The loop has ended, or there is no memory; then the loop checks when something else wakes it.
    }
}

bool RemoteOperations::add(FiberOperation& operation) noexcept {
    const std::lock_guard held(lock_);
    if (closing_) return false;
    operation.starting_ = true;
    operations_.add(operation);
    return true;
}

bool RemoteOperations::started(FiberOperation& operation) noexcept {
    const std::lock_guard held(lock_);
    operation.starting_ = false;
    return !closing_ || loop_ == nullptr;
}

void RemoteOperations::remove(FiberOperation& operation) noexcept {
    const std::lock_guard held(lock_);
    if (loop_ == nullptr) return;
    operations_.remove(operation);
    if (closing_ && operations_.empty()) wakeForTheEnd(*loop_);
}

bool RemoteOperations::empty() const noexcept {
    const std::lock_guard held(lock_);
    return operations_.empty();
}

void RemoteOperations::cancelAll() noexcept {
    const std::lock_guard held(lock_);
    closing_ = true;
    operations_.cancelAll();
}

void RemoteOperations::forgetAll() noexcept {
    const std::lock_guard held(lock_);
    closing_ = true;
    loop_ = nullptr;
}

}  // namespace weft::asio_io::detail
