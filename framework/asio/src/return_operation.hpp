// ReturnOperation: makes io_context::run_one() return when there is nothing that it should call.
#pragma once

#include <atomic>

#include <boost/asio/detail/op_queue.hpp>
#include <boost/asio/detail/scheduler_operation.hpp>

namespace weft::asio_io::detail {

// In a queue of Asio's once at a time; must outlive that queue.
class ReturnOperation final : public boost::asio::detail::scheduler_operation {
  public:
    // `called(who)`: Asio has called it. Context: the thread that runs the io_context.
    ReturnOperation(void (*called)(void*) noexcept, void* who)
        : scheduler_operation(&ReturnOperation::complete), called_(called), who_(who) {}

    // False: it is in a queue. Context: the carrier.
    bool pushTo(boost::asio::detail::op_queue<scheduler_operation>& queue) noexcept {
        if (queued_.exchange(true, std::memory_order_acq_rel)) return false;
        queue.push(this);
        return true;
    }

  private:
    static void complete(void* owner, scheduler_operation* base, const boost::system::error_code&, std::size_t) {
        auto& self = *static_cast<ReturnOperation*>(base);
        self.queued_.store(false, std::memory_order_release);
        if (owner != nullptr) self.called_(self.who_);
    }

    void (*const called_)(void*) noexcept;
    void* const who_;
    std::atomic<bool> queued_{false};  // another thread may run the io_context, against the contract
};

}  // namespace weft::asio_io::detail
