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

void StrandState::enter(Functions added) noexcept {
    {
        const std::lock_guard held(lock_);
        waiting_.splice(waiting_.end(), added);
        if (std::exchange(busy_, true)) return;
    }
    intrusive_ptr_add_ref(this);
    service_.workStarted();
    service_.post(*this);
}

bool StrandState::isInside() const noexcept {
    const std::uint64_t self = thisFiber::id();
    return self != 0 && inside_.load(std::memory_order_relaxed) == self;
}

void StrandState::failed(const std::exception_ptr& error) const noexcept {
    service_.functionFailed(error);
}

// Context: the loop. If there is no memory for its fiber, the function is lost, and run() throws the exception of
// spawn().
void StrandState::called() {
    spawning_ = true;
    try {
        service_.loop().carrier()->spawnDetached(Turn(*this), {.name = "asio", .stealable = Stealable::never});
    } catch (...) {
        spawning_ = false;
        takeFirst().clear();
        passOn();
        throw;
    }
    spawning_ = false;
}

void StrandState::runFirst(FunctionInFiber& function) {
    Functions first = takeFirst();
    inside_.store(thisFiber::id(), std::memory_order_relaxed);
    const auto run = [&] {
        first.front()();
        first.clear();
    };
    function.run(run);
    first.clear();
    inside_.store(0, std::memory_order_relaxed);
    passOn();
}

void StrandState::passOn() noexcept {
    bool goesOn = false;
    {
        const std::lock_guard held(lock_);
        goesOn = busy_ = !waiting_.empty();
    }
    goesOn ? service_.post(*this) : becomeIdle();
}

void StrandState::becomeIdle() noexcept {
    service_.workFinished();
    intrusive_ptr_release(this);
}

StrandState::Functions StrandState::takeFirst() noexcept {
    Functions first;
    const std::lock_guard held(lock_);
    first.splice(first.end(), waiting_, waiting_.begin());
    return first;
}

// The context accepts no more functions. Destroys the waiting ones outside the lock, because they may enter others.
void StrandState::dropped() noexcept {
    Functions rest;
    {
        const std::lock_guard held(lock_);
        rest.swap(waiting_);
        busy_ = false;
    }
    becomeIdle();
}

}  // namespace weft::asio_io::detail
