#include <weft/asio_io/detail/strand_state.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <weft/asio_io/context.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "service.hpp"

namespace weft::asio_io::detail {

// Owned by the first function's fiber. If that never runs, because its carrier has ended, it destroys the strand's
// functions.
struct StrandState::Turn {
    explicit Turn(StrandState& owner) : function(owner.service_), state(&owner) {}
    Turn(Turn&&) = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
        if (state != nullptr && !state->spawning_) state->dropped();
    }
    void operator()() { boost::intrusive_ptr<StrandState>(std::move(state))->runFirst(function); }

    FunctionInFiber function;
    boost::intrusive_ptr<StrandState> state;
};

StrandState::StrandState(Context& context) : service_(context.service()) {}

void StrandState::enter(std::unique_ptr<StrandTask> task) noexcept {
    {
        const std::lock_guard held(lock_);
        StrandTask* const added = task.get();
        (first_ == nullptr ? first_ : last_->next_) = std::move(task);
        last_ = added;
        if (std::exchange(busy_, true)) return;
    }
    intrusive_ptr_add_ref(this);
    service_.workStarted();
    submit();
}

bool StrandState::isInside() const noexcept {
    const std::uint64_t self = thisFiber::id();
    return self != 0 && inside_.load(std::memory_order_relaxed) == self;
}

void StrandState::failed(const std::exception_ptr& error) const noexcept {
    service_.functionFailed(error);
}

void StrandState::submit() noexcept {
    service_.post(*this);
}

// Context: the loop. If there is no memory for its fiber, the function is lost, and run() throws the exception of
// spawn().
void StrandState::called() {
    spawning_ = true;
    try {
        service_.loop().carrier()->spawnDetached(Turn(*this), {.name = "asio", .stealable = Stealable::never});
    } catch (...) {
        spawning_ = false;
        takeFirst().reset();
        passOn();
        throw;
    }
    spawning_ = false;
}

void StrandState::runFirst(FunctionInFiber& function) {
    std::unique_ptr<StrandTask> task = takeFirst();
    inside_.store(thisFiber::id(), std::memory_order_relaxed);
    const auto run = [&] {
        task->call();
        task.reset();
    };
    function.run(run);
    task.reset();
    inside_.store(0, std::memory_order_relaxed);
    passOn();
}

void StrandState::passOn() noexcept {
    bool goesOn = false;
    {
        const std::lock_guard held(lock_);
        goesOn = busy_ = first_ != nullptr;
    }
    goesOn ? submit() : becomeIdle();
}

void StrandState::becomeIdle() noexcept {
    service_.workFinished();
    intrusive_ptr_release(this);
}

std::unique_ptr<StrandTask> StrandState::takeFirst() noexcept {
    const std::lock_guard held(lock_);
    std::unique_ptr<StrandTask> task = std::move(first_);
    first_ = std::move(task->next_);
    return task;
}

// The context accepts no more functions. Destroys the waiting ones one by one, because they may enter others.
void StrandState::dropped() noexcept {
    std::unique_ptr<StrandTask> rest;
    {
        const std::lock_guard held(lock_);
        rest = std::move(first_);
        busy_ = false;
    }
    becomeIdle();
    while (rest != nullptr) rest = std::move(rest->next_);
}

}  // namespace weft::asio_io::detail
