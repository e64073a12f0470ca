#include "connect_attempts.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include <weft/framework/connect_advice.hpp>
#include <weft/pipeline/detail/fallback_listener.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/tcp_socket.hpp>

#include <weft/framework/detail/address_order.hpp>

namespace weft::detail {

namespace {

// B-3: the descriptor has an owner at all times, whatever throws.
ChannelRef makeConnection(const PipelineSetup& setup, EventLoop& loop, int family) {
    SocketIoHandler* sockets = SocketIoHandler::of(loop);
    if (!sockets) throw std::logic_error("Bootstrap::connect() on an event loop without sockets");
    Fd fd = openTcpSocket(family, sockets->systemCalls());
    ChannelRef channel = Channel::create(loop);
    channel->attach(sockets->connector(std::move(fd), *channel));
    setup.applyOptions(*channel);
    if (setup.hasHandler()) channel->pipeline().addLast([setup](Channel& itself) { setup.fill(itself); });
    return channel;
}

ChannelFuture failed(std::exception_ptr cause) {
    const ChannelPromise promise = ChannelPromise::detached();
    promise.tryFailure(std::move(cause));
    return promise.future();
}

// If there is no memory for the text, bad_alloc becomes the error.
std::exception_ptr loopEnded(const std::string& remote) noexcept {
    try {
        throw SystemError(operationAborted(), "connect to " + remote + ": its event loop has ended or is ending");
    } catch (...) {
        return std::current_exception();
    }
}

// The transport closes the channel of a connect that fails, with the cause. It does not see one that a handler fails,
// or that is cancelled on its way (W-8).
void closeUnlessConnected(const ChannelFuture& attempt) {
    if (attempt.success()) return;
    try {
        attempt.channel()->loop().execute([attempt] { closeChannel(attempt); });
    } catch (const SystemError&) {  // the loop has ended, and with it the channel
    }
}

// True for errors that a later attempt may not meet.
bool isTemporary(const ErrorCode& error) noexcept {
    if (error.category() != boost::system::system_category()) return false;
    switch (error.value()) {
        case ECONNREFUSED:
        case ECONNRESET:
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case ENETDOWN: return true;
        default: return false;
    }
}

}  // namespace

ChannelFuture connectOnce(const ConnectPlan& plan, EventLoop& loop, const SocketAddress& remote) {
    ChannelRef channel;
    try {
        channel = makeConnection(plan.setup, loop, remote.family());
    } catch (...) {
        return failed(std::current_exception());
    }
    ChannelPromise connected = channel->newPromise();
    connected.addListener(FallbackListener(closeUnlessConnected, [] {}));
    channel->registerWithLoop().addListener(FallbackListener(
        [channel, connected, remote, local = plan.local](const ChannelFuture& registered) {
            if (registered.success()) {
                channel->connect(remote, local.empty() ? nullptr : &local, connected);
            } else {
                connected.tryFailure(registered.cause());
            }
        },
        [connected, remote] { connected.tryFailure(loopEnded(remote.toString())); }));
    return connected.future();
}

std::shared_ptr<ConnectAttempts> ConnectAttempts::create(EventLoop& loop, ConnectPlan plan, std::string remote) {
    const std::shared_ptr<ConnectAttempts> attempts(new ConnectAttempts(loop, std::move(plan), std::move(remote)));
    const auto end = [weak = attempts->weak_from_this()](const ChannelFuture& outcome) {
        const auto self = weak.lock();
        if (self && outcome.cancelled()) self->endAttempts();
    };
    attempts->promise_.addListener(FallbackListener(end, [] {}));  // an ended loop has cancelled everything
    return attempts;
}

ConnectAttempts::ConnectAttempts(EventLoop& loop, ConnectPlan plan, std::string remote)
    : loop_(loop), plan_(std::move(plan)), remote_(std::move(remote)), promise_(ChannelPromise::early(loop)) {}

void ConnectAttempts::start(Resolver::Addresses addresses) noexcept {
    Promise<Resolver::Addresses> known;
    known.setValue(std::move(addresses));
    if (!resolved(known.future())) abort();
}

bool ConnectAttempts::resolved(Future<Resolver::Addresses> addresses) noexcept {
    try {
        loop_.execute([self = shared_from_this(), addresses = std::move(addresses)] {
            if (addresses.error()) {
                self->promise_.tryFailure(addresses.error());
            } else {
                self->begin(addresses.get());
            }
        });
        return true;
    } catch (...) {
        return false;
    }
}

void ConnectAttempts::abort() noexcept {
    if (!promise_.done()) promise_.tryFailure(loopEnded(remote_));
}

// A local address restricts the remote addresses to its family.
void ConnectAttempts::begin(Resolver::Addresses addresses) {
    const int family = plan_.local.family();
    if (!plan_.local.empty()) {
        std::erase_if(addresses, [family](const SocketAddress& remote) { return remote.family() != family; });
    }
    if (addresses.empty()) {
        const std::string why = "connect to " + remote_ + ": it has no address of the family of localAddress(" +
                                plan_.local.toString() +
                                "); omit localAddress(), or give one of the family of the remote address";
        promise_.tryFailure(std::make_exception_ptr(SystemError(fromErrno(EAFNOSUPPORT), why)));
        return;
    }
    addresses_ = alternating(addresses);
    tryNext();
}

// Begins the next attempt. A loop, not a call by each failure: those that fail before they have begun are as many as
// the name has addresses.
void ConnectAttempts::tryNext() {
    pause_.cancel();
    while (!promise_.done()) {
        if (loop_.stopping()) return abort();
        if (next_ == addresses_.size()) {
            if (running_.empty()) endRound();
            return;
        }
        const SocketAddress remote = addresses_[next_++];
        const ChannelFuture attempt = connectOnce(plan_, loop_, remote);
        if (!attempt.done() || attempt.success()) return follow(remote, attempt);
        noteFailure(remote, attempt);
    }
    endAttempts();
}

// An attempt that neither connects nor fails has another beside it after a while.
void ConnectAttempts::follow(const SocketAddress& remote, const ChannelFuture& attempt) {
    running_.push_back(attempt);
    const auto self = shared_from_this();
    attempt.addListener(FallbackListener([self, remote](const ChannelFuture& ended) { self->attempted(remote, ended); },
                                         [self] { self->abort(); }));
    if (promise_.done() || next_ == addresses_.size()) return;
    pause_ = loop_.schedule([self] { self->tryNext(); }, attemptDelay);
}

void ConnectAttempts::attempted(const SocketAddress& remote, const ChannelFuture& attempt) {
    std::erase(running_, attempt);
    if (!attempt.success()) {
        if (!promise_.done()) noteFailure(remote, attempt);
        return tryNext();
    }
    if (!promise_.trySuccess(*attempt.channel())) attempt.channel()->close();
    endAttempts();
}

// Fails the promise when the failure is not a SystemError but, for example, another exception of a handler: another
// address would not help.
void ConnectAttempts::noteFailure(const SocketAddress& remote, const ChannelFuture& attempt) {
    try {
        std::rethrow_exception(attempt.cause());
    } catch (const SystemError& failure) {
        error_ = failure.code();
        retryMayHelp_ = retryMayHelp_ || isTemporary(error_);
        if (!attemptErrors_.empty()) attemptErrors_ += ", ";
        attemptErrors_ += remote.toString() + " (" + error_.message() + ")";
    } catch (...) {
        promise_.tryFailure(attempt.cause());
    }
}

void ConnectAttempts::endRound() {
    if (++round_ == plan_.rounds || !retryMayHelp_) return fail();
    next_ = 0;
    retryMayHelp_ = false;
    attemptErrors_.clear();
    pause_ = loop_.schedule([self = shared_from_this()] { self->tryNext(); }, plan_.pause);
}

void ConnectAttempts::fail() {
    std::string text = "connect to " + remote_;
    if (!plan_.local.empty()) text += " from " + plan_.local.toString();
    if (round_ > 1) text += " failed in " + std::to_string(round_) + " rounds, the last of which";
    text += (round_ > 1 ? " tried " : ": tried ") + attemptErrors_ + "; " + std::string(connectAdvice(error_));
    promise_.tryFailure(std::make_exception_ptr(SystemError(error_, text)));
}

// Cancelling an attempt closes its channel.
void ConnectAttempts::endAttempts() {
    pause_.cancel();
    pause_ = {};
    for (const ChannelFuture& attempt : std::exchange(running_, {})) attempt.cancel();
}

}  // namespace weft::detail
