// OperationList: the operations of a context that fibers and threads wait for.
#pragma once

#include <weft/asio_io/detail/fiber_operation.hpp>

namespace weft::asio_io::detail {

// An intrusive list. An operation is added once in its life.
class OperationList {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    void add(FiberOperation& operation) noexcept {
        operation.next_ = first_;
        if (first_ != nullptr) first_->previous_ = &operation;
        first_ = &operation;
    }
    void remove(FiberOperation& operation) noexcept {
        (operation.previous_ != nullptr ? operation.previous_->next_ : first_) = operation.next_;
        if (operation.next_ != nullptr) operation.next_->previous_ = operation.previous_;
    }
    // Except those that are being started.
    void cancelAll() noexcept {
        for (FiberOperation* operation = first_; operation != nullptr; operation = operation->next_) {
            if (!operation->starting_) operation->emitCancellation();
        }
    }
    // Separates the operations from their context.
    void forgetAll() noexcept {
        while (first_ != nullptr) {
            first_->service_ = nullptr;
            first_ = first_->next_;
        }
    }

  private:
    FiberOperation* first_ = nullptr;
};

}  // namespace weft::asio_io::detail
