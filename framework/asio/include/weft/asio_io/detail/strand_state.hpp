// StrandState: the queued functions of a FiberStrand, and the one that runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <list>
#include <mutex>

#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <weft/asio_io/detail/asio_internals.hpp>
#include <weft/asio_io/detail/function_in_fiber.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft::asio_io::detail {

// Runs one function at a time, each in its own fiber, in the order of enter(). While functions wait or run, the state
// is queued in Asio as the operation that starts the next fiber; it then holds a reference to itself and counts as work
// of the context.
class StrandState final : public OwnOperation, public boost::intrusive_ref_counter<StrandState> {
  public:
    using Functions = std::list<UniqueFunction<void()>>;

    explicit StrandState(Context& context);

    // Takes over one function. If it has not begun when the loop ends, it is destroyed with the Context. Context: any
    // thread.
    void enter(Functions added) noexcept;
    // True when the calling fiber runs a function of this strand.
    bool isInside() const noexcept;
    // Reports the exception of a function that runs inside another one of the strand. Context: its fiber.
    void failed(const std::exception_ptr& error) const noexcept;

  private:
    struct Turn;

    void called() override;
    void dropped() noexcept override;
    void runFirst(FunctionInFiber& function);
    void passOn() noexcept;
    void becomeIdle() noexcept;
    Functions takeFirst() noexcept;

    Service& service_;
    std::mutex lock_;
    Functions waiting_;
    bool busy_ = false;                     // guarded by lock_, as is waiting_
    bool spawning_ = false;                 // used by the loop only
    std::atomic<std::uint64_t> inside_{0};  // id of the running fiber; relaxed: a fiber can only match its own id
};

}  // namespace weft::asio_io::detail
