#include <weft/pipeline/detail/promise_state.hpp>

#include <new>
#include <utility>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/detail/fallback_listener.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

#include "leak_registry.hpp"

namespace weft::detail {

namespace {

// Notifications on this thread's stack. No fiber suspends inside one, so it cannot continue on another thread.
constinit thread_local unsigned nestedNotifications = 0;
// Listeners of this thread that were dropped and have a fallback.
constinit thread_local unsigned fallbackDrops = 0;

void callListener(PromiseState::Listener& listener, const ChannelFuture& future) noexcept {
    try {
        listener(future);
    } catch (...) {
        try {
            log(LogLevel::warning, "a channel future's listener threw: " + describe(std::current_exception()));
        } catch (...) {
            log(LogLevel::warning, "a channel future's listener threw");
        }
    }
}

}  // namespace

// No channel keeps the loop for it.
struct PromiseState::Early final : PromiseState {
    explicit Early(EventLoop& loop) noexcept
        : PromiseState(nullptr, &loop, true), keptLoop(loop.weak_from_this().lock()) {}

    static void destroy(Early* state) noexcept {
        const std::shared_ptr<EventLoop> loop = std::move(state->keptLoop);  // longer than the listeners
        state->~Early();
        ThreadCache::release(state, sizeof(Early));
    }

    std::shared_ptr<EventLoop> keptLoop;
};

void noteFallback() noexcept {
    ++fallbackDrops;
}

PromiseState* PromiseState::create(Channel* channel, EventLoop* loop) {
    return ::new (ThreadCache::allocate(sizeof(PromiseState))) PromiseState(channel, loop);
}

PromiseState* PromiseState::createEarly(EventLoop& loop) {
    return ::new (ThreadCache::allocate(sizeof(Early))) Early(loop);
}

PromiseState::PromiseState(Channel* channel, EventLoop* loop, bool early) noexcept
    : early_(early), channel_(channel), loop_(loop) {
    if (channel_) retainChannel(*channel_);
}

PromiseState::~PromiseState() {
    if constexpr (leakDetectionBuilt) {
        if (LeakRegistry::watching()) LeakRegistry::instance().promiseEnded(this);
    }
    if (channel_ && !inChannel_) releaseChannel(*channel_);
}

void PromiseState::retain() noexcept {
    if (inChannel_) return retainChannel(*channel_);
    references_.retain();
}

void PromiseState::release() noexcept {
    if (inChannel_) return releaseChannel(*channel_);
    if (!references_.release()) return;
    if (early_) return Early::destroy(static_cast<Early*>(this));
    this->~PromiseState();
    ThreadCache::release(this, sizeof(PromiseState));
}

std::exception_ptr PromiseState::cause() const {
    switch (status()) {
        case PromiseStatus::failure: return cause_;  // final: not written again
        case PromiseStatus::cancelled:
            return std::make_exception_ptr(SystemError(operationAborted(), "the operation was cancelled"));
        default: return nullptr;
    }
}

ErrorCode PromiseState::error() const {
    switch (status()) {
        case PromiseStatus::failure: return errorCodeOf(cause_);
        case PromiseStatus::cancelled: return operationAborted();
        default: return {};
    }
}

bool PromiseState::setUncancellable() noexcept {
    return completion_.advance(PromiseStatus::pending, PromiseStatus::uncancellable) != PromiseStatus::cancelled;
}

bool PromiseState::finish(PromiseStatus outcome, std::exception_ptr cause, Channel* made) {
    const auto mayEnd = [this, outcome](PromiseStatus now) {
        if (outcome == PromiseStatus::cancelled) [[unlikely]]
            return now != PromiseStatus::uncancellable && !inChannel_;  // never the close future (C-7)
        return true;
    };
    const auto publish = [&] {
        cause_ = std::move(cause);
        if (made) [[unlikely]]
            retainChannel(*(channel_ = made));
    };
    const EndDuty duty = completion_.end(outcome, mayEnd, publish, [](auto&) {});
    if (duty == EndDuty::callListeners) notify();
    return duty != EndDuty::refused;
}

void PromiseState::listen(Listener listener) {
    if (completion_.append(std::move(listener))) notify();
}

bool PromiseState::mayNotifyHere() const noexcept {
    return nestedNotifications < maxNestedNotifications && (!loop_ || loop_->inEventLoop());
}

void PromiseState::notify() noexcept {
    if (mayNotifyHere()) {
        runListeners();
    } else {
        notifyLater();
    }
}

// A task that calls the listeners. If the loop destroys it without having run it, or refuses it, they are dropped.
class PromiseState::Notification {
  public:
    explicit Notification(PromiseStateRef state) noexcept : state_(std::move(state)) {}
    Notification(Notification&&) noexcept = default;
    Notification& operator=(Notification&&) = delete;
    ~Notification() {
        if (state_) state_->dropListeners();
    }
    void operator()() {
        const PromiseStateRef state = std::move(state_);
        state->runListeners();
    }

  private:
    PromiseStateRef state_;
};

void PromiseState::notifyLater() noexcept {
    if (!loop_) return runListeners();  // nested too deeply, but there is no loop to post to
    retain();
    Notification notification(PromiseStateRef::adopt(this));
    try {
        loop_->execute(std::move(notification));
    } catch (...) {
        // The loop has ended, or there is no memory: the notification drops the listeners.
    }
}

void PromiseState::dropListeners() noexcept {
    Completion::Listeners listeners;
    if (!completion_.beginNotifying(listeners)) return;  // the running call does it
    retain();
    const PromiseStateRef held = PromiseStateRef::adopt(this);  // a listener may hold the last reference
    unsigned dropped = 0;
    const unsigned answeredBefore = fallbackDrops;
    do {
        listeners.callAll([&dropped](Listener&) { ++dropped; });
    } while (completion_.keepNotifying(listeners));
    const unsigned answered = std::exchange(fallbackDrops, answeredBefore) - answeredBefore;
    if (dropped <= answered) return;
    log(LogLevel::error, "a channel future completed after its loop had ended: its listeners are not called");
}

void PromiseState::runListeners() noexcept {
    Completion::Listeners listeners;
    if (!completion_.beginNotifying(listeners)) return;  // the running call does it
    retain();
    const ChannelFuture future(PromiseStateRef::adopt(this));  // a listener may drop the promise
    const NonSuspendingScope scope = loop_ ? NonSuspendingScope(loop_->carrier()) : NonSuspendingScope();
    ++nestedNotifications;
    do {
        listeners.callAll([&future](Listener& listener) { callListener(listener, future); });
    } while (completion_.keepNotifying(listeners));
    --nestedNotifications;
}

bool PromiseState::awaitUntil(Deadline deadline, const char* call) {
    // Waiting would never end: only this thread drives the embedded loop that completes the operation.
    if (!isDone(status()) && loop_ && !loop_->carrier() && loop_->inEventLoop()) throw BlockingOperationException(call);
    const ErrorCode error = completion_.wait(deadline, call);
    if (error && error != timedOut()) throw SystemError(error, call);
    return !error;
}

}  // namespace weft::detail
