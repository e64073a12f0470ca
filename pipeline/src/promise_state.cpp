#include <weft/pipeline/detail/promise_state.hpp>

#include <new>
#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>

namespace weft::detail {

namespace {

// Notifications on this thread's stack. Nothing suspends inside one, so the thread cannot change under it.
constinit thread_local unsigned nestedNotifications = 0;

void logThrowingListener() noexcept {
    try {
        log(LogLevel::warning, "a channel future's listener threw: " + describe(std::current_exception()));
    } catch (...) {
        log(LogLevel::warning, "a channel future's listener threw");
    }
}

}  // namespace

PromiseState* PromiseState::create(Channel* channel, EventLoop* loop) {
    return ::new (ThreadCache::allocate(sizeof(PromiseState))) PromiseState(channel, loop);
}

PromiseState::PromiseState(Channel* channel, EventLoop* loop) noexcept : channel_(channel), loop_(loop) {
    if (channel_) retainChannel(*channel_);
}

PromiseState::~PromiseState() {
    if (channel_ && !embedded_) releaseChannel(*channel_);
}

void PromiseState::retain() noexcept {
    if (embedded_) return retainChannel(*channel_);
    references_.fetch_add(1, std::memory_order_relaxed);  // the caller holds one already
}

void PromiseState::release() noexcept {
    if (embedded_) return releaseChannel(*channel_);
    // A sole holder needs no RMW; acquire/release: all that other holders did comes before the end.
    if (references_.load(std::memory_order_acquire) != 1 && references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    this->~PromiseState();
    ThreadCache::release(this, sizeof(PromiseState));
}

std::exception_ptr PromiseState::cause() const {
    switch (status()) {
        case PromiseStatus::failure:
            return cause_;  // not written again
        case PromiseStatus::cancelled:
            return std::make_exception_ptr(SystemError(operationAborted(), "the operation was cancelled"));
        default:
            return nullptr;
    }
}

ErrorCode PromiseState::error() const {
    switch (status()) {
        case PromiseStatus::failure:
            return errorCodeOf(cause_);
        case PromiseStatus::cancelled:
            return operationAborted();
        default:
            return {};
    }
}

bool PromiseState::setUncancellable() noexcept {
    std::lock_guard held(lock_);
    const PromiseStatus now = status();
    if (now == PromiseStatus::pending) status_.store(PromiseStatus::uncancellable, std::memory_order_release);
    return now != PromiseStatus::cancelled;
}

bool PromiseState::finish(PromiseStatus outcome, std::exception_ptr cause) {
    bool listened = false;
    {
        std::lock_guard held(lock_);
        const PromiseStatus now = status();
        if (isDone(now)) return false;
        if (outcome == PromiseStatus::cancelled && now == PromiseStatus::uncancellable) return false;
        cause_ = std::move(cause);
        status_.store(outcome, std::memory_order_release);
        waiters_.wakeAll();
        listened = static_cast<bool>(first_);
    }
    if (listened) notify();
    return true;
}

void PromiseState::listen(Listener listener) {
    {
        std::lock_guard held(lock_);
        if (!first_ && nextMore_ == more_.size()) {
            first_ = std::move(listener);
        } else {
            more_.push_back(std::move(listener));
        }
        if (!isDone(status())) return;
    }
    notify();
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

void PromiseState::notifyLater() noexcept {
    if (!loop_) return runListeners();  // too deep, and no loop to hand it to
    retain();
    try {
        loop_->execute([self = PromiseStateRef::adopt(this)] { self->runListeners(); });
    } catch (...) {
        log(LogLevel::error, "a channel future completed after its loop had ended: its listeners are not called");
    }
}

void PromiseState::runListeners() noexcept {
    retain();
    PromiseStateRef alive = PromiseStateRef::adopt(this);  // a listener may drop the promise
    {
        std::lock_guard held(lock_);
        if (notifying_) return;  // whoever is at it takes ours too, in order
        notifying_ = true;
    }
    const ChannelFuture future(alive);
    const NonSuspendingScope scope = loop_ ? NonSuspendingScope(loop_->carrier()) : NonSuspendingScope();
    ++nestedNotifications;
    Listener listener;
    while (takeListener(listener)) {
        try {
            listener(future);
        } catch (...) {
            logThrowingListener();
        }
        listener.reset();
    }
    --nestedNotifications;
}

bool PromiseState::takeListener(Listener& listener) {
    std::lock_guard held(lock_);
    if (first_) {
        listener = std::move(first_);
        return true;
    }
    if (nextMore_ < more_.size()) {
        listener = std::move(more_[nextMore_++]);
        return true;
    }
    more_.clear();
    nextMore_ = 0;
    notifying_ = false;
    return false;
}

ErrorCode PromiseState::waitUntil(Deadline deadline, const char* call) {
    // Nobody but this thread could complete it: an embedded loop runs only when its owner drives it.
    if (!isDone(status()) && loop_ && !loop_->carrier() && loop_->inEventLoop()) throw BlockingOperationException(call);
    return waiters_.waitUntil(lock_, deadline, call, [this] { return isDone(status()); });
}

}  // namespace weft::detail
