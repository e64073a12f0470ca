// ReturnOperation: makes io_context::run_one() return when it has no handler to call.
#pragma once

#include <atomic>

#include <boost/asio/detail/op_queue.hpp>
#include <boost/asio/detail/scheduler_operation.hpp>

namespace weft::asio_io::detail {

// At most once in an Asio queue, which it must outlive.
class ReturnOperation final : public boost::asio::detail::scheduler_operation {
  public:
    // Asio calls `called(who)`. Context: the thread that runs the io_context.
    ReturnOperation(void (*called)(void*) noexcept, void* who)
        : scheduler_operation(&ReturnOperation::complete), called_(called), who_(who) {}

    // Returns false when it is already in a queue. Context: the carrier.
    bool pushTo(boost::asio::detail::op_queue<scheduler_operation>& queue) noexcept {
        if (queued_.exchange(true, std::memory_order_acq_rel)) return false;  // [A7]
        queue.push(this);
        return true;
    }

  private:
    static void complete(void* owner, scheduler_operation* base, const boost::system::error_code&, std::size_t) {
        auto& self = *static_cast<ReturnOperation*>(base);
        self.queued_.store(false, std::memory_order_release);  // [A7]
        if (owner != nullptr) self.called_(self.who_);
    }

    void (*const called_)(void*) noexcept;
    void* const who_;
    std::atomic<bool> queued_{false};  // atomic: another thread may run the io_context, against the contract
};

}  // namespace weft::asio_io::detail
