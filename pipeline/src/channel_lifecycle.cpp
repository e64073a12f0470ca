// A channel's creation and registration, and its reference counts.
#include <weft/pipeline/channel.hpp>

#include <stdexcept>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/deregistered_channels.hpp>
#include <weft/pipeline/detail/limited_log.hpp>
#include <weft/pipeline/detail/lost_writes.hpp>
#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/log.hpp>

#include "channel_private.hpp"
#include "leak_registry.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

namespace {

std::uint64_t nextId() noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);  // relaxed: the id orders no other data
}

// Level debug when the loop has ended: then a line for each channel that comes too late would say nothing new.
[[gnu::cold]] void logRefusedRegistration(const Channel& channel, const std::exception_ptr& cause) noexcept {
    static detail::LimitedLog faults, ordinaryEnds;
    const bool ended = errorCodeOf(cause) == operationAborted();
    const LogLevel level = ended ? LogLevel::debug : LogLevel::warning;
    detail::LimitedLog& limited = ended ? ordinaryEnds : faults;
    try {
        limited.write(level, {detail::channelName(channel), " could not be registered with its event loop, so it is ",
                              "closed: ", describe(cause)});
    } catch (...) {
        limited.write(level, {"a channel could not be registered with its event loop, so it is closed"});
    }
}

}  // namespace

void detail::retainChannel(Channel& channel) noexcept {
    channel.references_.retain(currentHome());
}

void detail::releaseChannel(Channel& channel) noexcept {
    if (channel.references_.release(currentHome())) [[unlikely]]
        Channel::destroy(channel);
}

ChannelRef Channel::create(EventLoop& loop) {
    if constexpr (leakDetectionBuilt) leakDetection();  // throws when the environment variable has a bad value
    return ChannelRef::adopt(new Channel(loop));
}

// currentHome() never equals a loop, so on an embedded loop no thread owns the counts.
const void* Channel::home() const noexcept {
    if (const Carrier* carrier = loop_.carrier()) return carrier;
    return &loop_;
}

Channel::Channel(EventLoop& loop)
    : loop_(loop),
      pins_(0, home()),
      id_(nextId()),
      pipeline_(*this),
      closeState_(*this, loop),
      keptLoop_(loop.weak_from_this().lock()) {}

Channel::~Channel() = default;

// The sink uses the loop's handler until it is destroyed.
void Channel::destroy(Channel& channel) noexcept {
    if (channel.state_.is(State::isDeregistered)) [[unlikely]]
        detail::DeregisteredChannels::remove(channel);
    const std::shared_ptr<EventLoop> loop = std::move(channel.keptLoop_);
    delete &channel;
}

void Channel::attach(std::unique_ptr<ChannelSink> sink) {
    WEFT_ASSERT(!state_.is(State::wasRegistered), "Channel::attach() after registration");
    sink_ = std::move(sink);
    if (sink_->takesMessages()) output_.takeWholeMessages();
}

EventLoop& Channel::eventLoop() const {
    if (!registered()) throw std::logic_error("the channel is not registered with an event loop yet");
    return loop_;
}

ChannelFuture Channel::closeFuture() noexcept {
    detail::retainChannel(*this);
    return ChannelFuture(detail::PromiseStateRef::adopt(&closeState_));
}

ChannelFuture Channel::registerWithLoop() {
    ChannelPromise promise = newPromise();
    registerWithLoop(promise);
    return promise.future();
}

void Channel::registerWithLoop(ChannelPromise promise) {
    WEFT_ASSERT(sink_ != nullptr, "Channel::registerWithLoop() before attach()");
    state_.set(State::wasRegistered);  // from here on the loop owns the channel
    try {
        runInLoop([this, promise] { registerNow(promise); });
    } catch (...) {
        // The loop has ended: no other thread can use the channel, so this one may close it.
        failRegistration(promise, std::current_exception());
    }
}

// The order of a registration (S-1).
void Channel::registerNow(const ChannelPromise& promise) {
    PipelineEntry entry(*this);
    if (closed()) return refuse(promise);
    if (registered()) {
        promise.tryFailure(std::make_exception_ptr(std::logic_error("the channel is already registered")));
        return;
    }
    try {
        if (output_.bytesOnly() && !sink_->listens()) output_.share(loop_.local<detail::OutputBlock>(), loop_, *this);
        sink_->registered();
    } catch (...) {
        return failRegistration(promise, std::current_exception());
    }
    state_.set(State::isRegistered);
    if (state_.is(State::isDeregistered)) detail::DeregisteredChannels::remove(*this);
    if (!references_.biased()) references_.bias(home());
    pipeline_.runPendingCallbacks();
    promise.trySuccess();
    pipeline_.fireChannelRegistered();
    if (!active()) return;
    if (!activeFired_) {
        becomeActive();
        if (!closed() && !outputEmpty()) loop_.requestFlushPoint(*this);  // flushed before the registration
    } else {
        writes_.setFull(false);  // a sink without a poller takes bytes, but may not send them
        if (!outputEmpty()) loop_.requestFlushPoint(*this);
        if (config_.autoRead && !closed()) read();  // a second registration reads again (S-2)
    }
}

// Without a promise, only the log can tell why. A channel that was registered before has handlers to remove.
void Channel::failRegistration(const ChannelPromise& promise, std::exception_ptr cause) {
    if (promise.isVoid()) logRefusedRegistration(*this, cause);
    if (closed() || (state_.is(State::isDeregistered) && detail::entersLoop(loop_))) {
        if (!closed()) beginClose({}, cause);
        promise.tryFailure(std::move(cause));
        return;
    }
    closeCause_ = cause;
    state_.set(State::isClosed);
    sink_.reset();  // the sink's destructor releases the descriptor
    state_.clear(State::isFiltered);
    closeState_.trySuccess();
    promise.tryFailure(std::move(cause));
}

// Fires channelActive at most once per channel (S-2).
void Channel::becomeActive() {
    state_.set(State::isActive);
    if (activeFired_ || closed()) return;
    activeFired_ = true;
    pipeline_.fireChannelActive();
    if (reads_.permitted() && !reads_.wanted()) setWantRead(true);  // an earlier read()
}

// Deregisters in a task, never inside the call (S-6).
void Channel::headDeregister(ChannelPromise promise) {
    loop_.execute([self = ChannelRef(*this), promise = std::move(promise)]() mutable {
        self->deregisterNow(std::move(promise));
    });
}

void Channel::deregisterNow(ChannelPromise promise) {
    if (!registered() || closed()) {
        promise.trySuccess();
        return;
    }
    PipelineEntry entry(*this);
    ChannelPromise internal = newPromise();
    try {
        detail::DeregisteredChannels::add(*this);  // before it leaves the poller, because this may fail
    } catch (...) {
        promise.tryFailure(std::current_exception());
        return;
    }
    internal.addListener([this, promise](const ChannelFuture& done) {
        detail::forward(done, promise);
        if (done.success() && registered()) unregister();
    });
    sink_->deregister(std::move(internal));
}

void Channel::unregister() {
    reads_.setWanted(false);
    writes_.setFull(false);  // deregistering also cancels what the sink had begun to send
    loop_.withdrawFlushPoint(*this);
    output_.unshare();  // the loop now holds no reference, so writes must request no flush point
    state_.clear(State::isRegistered);
    pipeline_.fireChannelUnregistered();
    if (!closed()) releaseOwnReference();
}

// Releases the reference that the loop holds, and ends the bias of the count.
void Channel::releaseOwnReference() noexcept {
    if (references_.biased() && references_.unbias()) destroy(*this);
}

// ---- removed handlers ----

void Channel::freeRemovedHandlers() noexcept {
    // While the loop counts its own pins separately, other threads cannot tell which pin is the last. So the bias ends
    // while there are any.
    if (!pins_.none() && !(pins_.biased() && pins_.unbias())) return;
    pipeline_.freeRemoved();
    if (!pins_.biased()) pins_.bias(home());
    if constexpr (leakDetectionBuilt) {
        if (closed() && pipeline_.empty() && detail::LeakRegistry::watching()) {
            detail::LeakRegistry::instance().channelEnded(id_);
        }
    }
}

void Channel::unpin() noexcept {
    if (!pins_.release(detail::currentHome())) return;
    if (loop_.inEventLoop()) {
        if (depth_ == 0 && pipeline_.hasRemoved()) freeRemovedHandlers();
        return;
    }
    // Only the loop may access the list of removed handlers. Its next pipeline entry frees them, so post one.
    try {
        loop_.executeLazily([self = ChannelRef(*this)] { PipelineEntry entry(*self); });
    } catch (...) {
        // The loop has ended: the channel's destructor frees them.
    }
}

}  // namespace weft
