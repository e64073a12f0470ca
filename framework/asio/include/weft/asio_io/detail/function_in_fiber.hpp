// FunctionInFiber: a function of an executor that runs in a fiber of the Context's carrier.
#pragma once

#include <exception>
#include <utility>

#include <weft/scheduler/fiber_set.hpp>

namespace weft::asio_io::detail {

class Service;

// Created before its fiber is spawned, destroyed after its function. Counts as work of the context, whose destructor
// waits for it. The function's exception goes to the caller of run(), or to the log. A wait that ended by cancellation
// or shutdown (operation_aborted) is not an error.
class FunctionInFiber {
  public:
    explicit FunctionInFiber(Service& service);
    FunctionInFiber(FunctionInFiber&& other) noexcept : service_(std::exchange(other.service_, nullptr)) {}
    FunctionInFiber& operator=(FunctionInFiber&&) = delete;
    ~FunctionInFiber();

    // Context: its fiber.
    template <class Call>
    void run(Call& call) {
        const FiberSet::Member member(functions());  // cancelled with the context
        try {
            call();
        } catch (...) {
            failed(std::current_exception());
        }
    }

  private:
    FiberSet& functions() const noexcept;
    void failed(const std::exception_ptr& error) const noexcept;

    Service* service_;
};

}  // namespace weft::asio_io::detail
