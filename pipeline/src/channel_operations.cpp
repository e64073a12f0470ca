// Binding and connecting, and the options of a channel.
#include <weft/pipeline/channel.hpp>

#include <stdexcept>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>

#include "channel_private.hpp"
#include "enters_loop.hpp"
#include "pipeline_entry.hpp"

namespace weft {

using detail::PipelineEntry;

// Completes the promise first; channelActive comes from a task (S-3).
void Channel::headBind(const SocketAddress& local, ChannelPromise promise) {
    if (closed() || !sink_) return refuse(promise);
    if (!promise.setUncancellable()) return;
    ChannelPromise internal = newPromise();
    internal.addListener([this, promise](const ChannelFuture& done) {
        const bool listens = done.success() && sink_->listens();
        if (listens) {
            listening_ = true;
            state_.set(State::isActive);
        }
        detail::forward(done, promise);
        if (!listens || closed()) return;
        loop_.execute([self = ChannelRef(*this)] {
            PipelineEntry entry(*self);
            if (self->active()) self->becomeActive();
        });
    });
    sink_->bind(local, std::move(internal));
}

// Completes the promise, then fires channelActive (S-3); a failure, a timeout and a cancelled connect close (S-4).
void Channel::headConnect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
    if (closed() || !sink_) return refuse(promise);
    if (connecting_ || active()) {
        throw std::logic_error(connecting_ ? "a connection attempt is already pending"
                                           : "the channel is already connected");
    }
    connecting_ = true;
    if (!promise.isVoid()) {
        promise.addListener([](const ChannelFuture& attempt) {
            if (attempt.cancelled()) closeChannel(attempt);
        });
    }
    startConnectTimer(promise, remote);
    ChannelPromise internal = newPromise();
    internal.addListener([this, promise](const ChannelFuture& attempt) { connected(attempt, promise); });
    try {
        sink_->connect(remote, local, std::move(internal));
    } catch (...) {
        connecting_ = false;
        stopConnectTimer();
        throw;  // so that the promise fails (E-2)
    }
}

void Channel::connected(const ChannelFuture& attempt, const ChannelPromise& promise) {
    PipelineEntry entry(*this);
    connecting_ = false;
    stopConnectTimer();
    if (!attempt.success()) {
        promise.tryFailure(attempt.cause());
        if (!closed()) beginClose({}, attempt.cause());
        return;
    }
    if (closed()) return refuse(promise);
    state_.set(State::isActive);
    const bool wanted = promise.trySuccess();
    becomeActive();  // also when the user has cancelled meanwhile
    if (!wanted && !closed()) beginClose({}, nullptr);
}

void Channel::startConnectTimer(const ChannelPromise& promise, const SocketAddress& remote) {
    if (config_.connectTimeout.count() <= 0) return;
    connectTimer_ = std::make_unique<ScheduledTask>(loop_.schedule(
        [self = ChannelRef(*this), promise, remote] {
            if (!self->connecting_) return;
            const SystemError timeout(timedOut(), "connecting to " + remote.toString());
            promise.tryFailure(std::make_exception_ptr(timeout));
            self->close({});
        },
        config_.connectTimeout));
}

// The task holds a reference to the channel, so dropping the task breaks the cycle.
void Channel::stopConnectTimer() noexcept {
    if (const auto timer = std::move(connectTimer_)) timer->cancel();
}

// ---- options ----

bool Channel::mayConfigureHere() const noexcept {
    return !state_.is(State::wasRegistered) || detail::entersLoop(loop_);
}

ErrorCode Channel::changeConfig(ConfigChange change) {
    if (mayConfigureHere()) {
        changeConfigNow(change);
        return {};
    }
    try {
        loop_.execute(
            [self = ChannelRef(*this), change = std::move(change)]() mutable { self->changeConfigNow(change); });
        return {};
    } catch (const SystemError& refused) {  // the loop has ended
        return refused.code();
    }
}

void Channel::changeConfigNow(ConfigChange& change) {
    const bool readBefore = config_.autoRead;
    change(config_);
    if (config_.maxMessagesPerRead == 0) config_.maxMessagesPerRead = 1;
    writability_.setMarks(config_.writeBufferWaterMark);
    if (!registered()) return;
    if (config_.autoRead && !readBefore) read();  // AUTO_READ on again reads
    if (!config_.autoRead && readBefore) stopReading();
}

// Not at once on other threads: the loop may have closed the descriptor, and its number may belong to another
// connection.
ErrorCode Channel::setSocketOption(const char* name, SocketOption option, int value) {
    if (mayConfigureHere()) return setSocketOptionNow(name, option, value);
    try {
        loop_.execute(
            [self = ChannelRef(*this), name, option, value] { self->setSocketOptionNow(name, option, value); });
        return {};
    } catch (const SystemError& refused) {  // the loop has ended, and its channels are closed
        return refused.code();
    }
}

ErrorCode Channel::setSocketOptionNow(const char* name, SocketOption option, int value) {
    const ErrorCode error = sink_ ? sink_->setOption(option, value) : operationAborted();
    if (error) {
        log(LogLevel::warning, "option " + std::string(name) + " = " + std::to_string(value) + " of channel " +
                                   std::to_string(id_) + " was refused: " + error.message());
    }
    return error;
}

int Channel::socketOption(const char* name, SocketOption option) const {
    if (!mayConfigureHere()) {
        throw std::logic_error("Channel::option(" + std::string(name) + ") of channel " + std::to_string(id_) +
                               " was called outside its event loop; call it in a task: channel.loop().execute(...)");
    }
    int value = 0;
    const ErrorCode error = sink_ ? sink_->getOption(option, value) : operationAborted();
    if (error) throw SystemError(error, "Channel::option");
    return value;
}

}  // namespace weft
