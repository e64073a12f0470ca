#include <weft/scheduler/blocking_pool.hpp>

#include <weft/scheduler/log.hpp>

#include "blocking_pool_state.hpp"
#include "describe_error.hpp"
#include "fork_mark.hpp"

namespace weft {

namespace {

void require(bool accepted, const char* name, const std::string& value, const char* range) {
    if (accepted) return;
    throw ConfigurationError("BlockingPoolOptions::" + std::string(name) + " is '" + value + "'; accepted: " + range);
}

BlockingPoolOptions validated(BlockingPoolOptions options) {
    options.validate();
    return options;
}

}  // namespace

void BlockingPoolOptions::validate() const {
    require(threads >= 1 && threads <= 16'384, "threads", std::to_string(threads), "1 to 16384");
    require(idle >= Duration::zero() && idle <= std::chrono::hours(24), "idle (ns)", std::to_string(idle.count()),
            "0 to 24 h");
    require(maxQueued <= 10'000'000, "maxQueued", std::to_string(maxQueued), "0 to 10000000");
    require(!name.empty() && name.size() <= 15, "name", name, "1 to 15 characters");
}

// On the heap, until its function has been called.
struct BlockingPool::Posted final : Job {
    explicit Posted(UniqueFunction<void()> function) noexcept : function(std::move(function)) {
        this->run = &Posted::runThis;
        this->posted = true;
    }
    static void runThis(Request& request) noexcept {
        const std::unique_ptr<Posted> self(static_cast<Posted*>(&request));
        try {
            self->function();
        } catch (...) {
            log(LogLevel::error,
                {"a function posted to a BlockingPool threw: ", detail::describe(std::current_exception())});
        }
    }
    UniqueFunction<void()> function;
};

BlockingPool::BlockingPool(BlockingPoolOptions options)
    : state_(std::make_shared<State>(validated(std::move(options)))) {}

BlockingPool::~BlockingPool() {
    if (forked()) {
        detail::KeptInFork::keep(std::move(state_));
    } else {
        state_->close();
    }
}

// The first wait can be interrupted. If it was, and a thread has begun, the second one cannot.
void BlockingPool::execute(Job& job) {
    state_->refuseFork("BlockingPool::run");
    {
        Suspension wait(State::callName);
        job.key = wait.key();
        state_->enqueue(job);
        if (wait.park() == WakeReason::resource) return;
    }
    Suspension wait(State::callName);
    if (!state_->waitAgain(job, wait)) return;
    static_cast<void>(wait.continueUninterruptibly());
}

void BlockingPool::post(UniqueFunction<void()> fn) {
    state_->refuseFork("BlockingPool::post");
    auto posted = std::make_unique<Posted>(std::move(fn));
    state_->enqueue(*posted);
    static_cast<void>(posted.release());  // its thread destroys it
}

bool BlockingPool::forked() const noexcept {
    return state_->forked();
}

bool BlockingPool::isOwnThread() const noexcept {
    return state_->isOwnThread();
}

std::size_t BlockingPool::threads() const {
    return state_->counts().threads;
}
std::size_t BlockingPool::idle() const {
    return state_->counts().idle;
}
std::size_t BlockingPool::queued() const {
    return state_->counts().queued;
}

}  // namespace weft
