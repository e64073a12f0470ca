#include "ssl_filter.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/tls/ssl_handler.hpp>

namespace weft::detail {

using Step = SslEngine::Step;

void SslFilter::begin() {
    begun_ = true;
    updateRead();
    if (!engine_.isServer()) receive();
}

// ---- input ----

void SslFilter::onRead(Buffer&& bytes) noexcept {
    hadInput_ = true;
    try {
        engine_.feed(std::move(bytes));
    } catch (const std::bad_alloc&) {
        return failInput(fromErrno(ENOMEM));
    }
    receive();
}

// Port scanners and health checks connect and leave: no exception. Nothing could be said to the peer, so there is no
// half-closure either.
void SslFilter::onEof() noexcept {
    if (!hadInput_) return channel().close(ChannelPromise());
    inputEnded_ = true;
    engine_.endInput();
    receive();
}

// The handshake needs input that the channel may not want yet. Records behind it wait in the engine: at most what the
// transport has delivered in one cycle.
void SslFilter::wantRead(bool on) {
    wantsRead_ = on;
    updateRead();
    if (!on || receiving_ || !engine_.hasInput()) return;
    try {
        receiveLater();
    } catch (const std::exception&) {
        failInput(fromErrno(ENOMEM));
    }
}

void SslFilter::updateRead() {
    below().wantRead(isShakingHands() ? wantsMore() : wantsRead_);
}

// A transport reports the end of the input again whenever reading is switched on.
bool SslFilter::wantsMore() const noexcept {
    return !inputEnded_ && engine_.unreadBytes() <= mostUnread && engine_.unreadBuffers() <= mostUnreadBuffers;
}

void SslFilter::receiveLater() {
    channel().loop().execute([this, self = ChannelRef(channel())] {
        receiving_ = false;
        if (self->closed()) return;
        receive();
        if (!self->closed()) onReadComplete();
    });
    receiving_ = true;
}

// A step of the handshake waits for its turn.
bool SslFilter::mayReceive() noexcept {
    if (channel().closed() || deregistered_) return false;
    if (engine_.handshakeDone()) return wantsRead_ && engine_.hasInput();
    if (engine_.failed()) return true;
    if (!engine_.canShakeHands() && !greets()) return false;
    return std::exchange(granted_, false) || takeTurn(channel().loop(), engine_.mostHandshakes());
}

bool SslFilter::goesOn(Step step) const noexcept {
    return step == Step::plaintext || step == Step::handshakeDone || step == Step::needContext ||
           (step == Step::needInput && !engine_.handshakeDone());
}

void SslFilter::receive() noexcept {
    if (receiving_) return;  // the running call or the submitted task reads these bytes, too
    receiving_ = true;
    try {
        receiveAll();
    } catch (const std::bad_alloc&) {
        failInput(fromErrno(ENOMEM));
    }
    receiving_ = false;
    goOnWriting();
}

void SslFilter::receiveAll() {
    for (Step step = Step::plaintext; goesOn(step) && mayReceive();) step = receiveOnce();
    if (channel().closed()) return;
    if (!engine_.handshakeDone()) updateRead();
    const std::uint64_t unsent = encoded().position() - encoded().flushedPosition() + encoded().flushedBytes();
    if (unsent > 2 * mostEncoded)  // writes alone make no more than half of it
        return fail(SystemError(SslError::tooManyEmptyRecords, "the peer reads no answers to its key updates"));
    sendAnswers();
}

// Its listeners may read.
void SslFilter::goOnWriting() noexcept {
    if (!refused_ || channel().closed() || !engine_.handshakeDone() || engine_.isWaitingForPeer()) return;
    refused_ = false;
    resumeOutput();
}

Step SslFilter::receiveOnce() {
    if (greets()) {
        greeted_ = true;
        engine_.begin(encoded());
        return Step::needInput;
    }
    Buffer plain;
    touch();
    if (engine_.handshakeDone()) plain = Buffer::allocate(channel().readBufferSize());
    const Step step = engine_.receive(plain, encoded());
    if (!plain.empty()) {
        deliver(std::move(plain));
    } else {
        react(step);
    }
    return step;
}

void SslFilter::react(Step step) noexcept {
    switch (step) {
        case Step::handshakeDone:
            endHandshake();
            if (owner_ != nullptr) owner_->onHandshake({}, nullptr);
            if (!channel().closed()) updateRead();
            return;
        case Step::peerClosed:
            if (std::exchange(peerClosed_, true)) return;
            if (owner_ != nullptr) owner_->onPeerClosed();
            if (!channel().closed()) endInput();
            return;
        case Step::failed: return fail(SystemError(engine_.error(), std::string(engine_.errorText())));
        case Step::needContext: return lookUp();
        case Step::plaintext:
        case Step::needInput: return;
    }
}

// ---- output ----

std::size_t SslFilter::encode(std::string_view plain, ChannelOutput& encoded) {
    const std::size_t taken = engine_.send(plain, encoded);
    touch();
    if (taken > 0) [[likely]]
        return taken;
    if (engine_.failed()) failEncoding(engine_.error());
    refused_ = true;
    return 0;
}

void SslFilter::finish(ChannelOutput& encoded) noexcept {
    if (!resets_) engine_.closeOutput(encoded);
}

// The FIN would cut off the handshake, or look like a truncation.
void SslFilter::shutdownOutput(ChannelPromise promise) {
    if (engine_.handshakeDone() && !engine_.isWaitingForPeer())
        return ChannelFilter::shutdownOutput(std::move(promise));
    promise.tryFailure(fromErrno(EAGAIN));
}

void SslFilter::close(ChannelPromise promise) {
    endHandshake();
    ChannelFilter::close(std::move(promise));
    forget();
}

// The loop holds no reference to the channel then, which may end on any thread.
void SslFilter::deregister(ChannelPromise promise) {
    deregistered_ = true;
    endHandshake();
    forget();
    ChannelFilter::deregister(std::move(promise));
}

void SslFilter::registered() {
    ChannelFilter::registered();
    if (!std::exchange(deregistered_, false) || !begun_ || receiving_) return;
    receiveLater();
}

void SslFilter::sendAnswers() {
    if (encoded().position() != encoded().flushedPosition()) sendEncoded();
}

ErrorCode SslFilter::setOption(SocketOption option, int value) {
    if (option == SocketOption::linger) resets_ = value == 0;
    return ChannelFilter::setOption(option, value);
}

// ---- turns, and the choice of a context ----

// Like the transport's call at the end of a read cycle.
void SslFilter::onTurn() noexcept {
    granted_ = true;
    receive();
    granted_ = false;
    if (!channel().closed()) onReadComplete();
}

// The program's function may block: in a fiber, as far as there can be one.
void SslFilter::lookUp() noexcept {
    try {
        Carrier* const carrier = channel().loop().carrier();
        if (carrier == nullptr) return lookUpHere(engine_.lookup());
        carrier->spawnMember(channel().fibers(),
                             [this, self = ChannelRef(channel()), call = engine_.lookup()] { lookUpHere(call); },
                             {.name = "tls-context"});
    } catch (...) {
        refuse(std::current_exception());
    }
}

void SslFilter::lookUpHere(const std::function<std::optional<SslContext>()>& call) noexcept {
    try {
        const std::optional<SslContext> found = call();
        if (channel().closed()) return;
        engine_.choose(found);
        goOn();
    } catch (...) {
        refuse(std::current_exception());
    }
}

// The close of the channel cancels the fiber.
void SslFilter::refuse(const std::exception_ptr& cause) noexcept {
    if (channel().closed()) return;
    try {
        const ErrorCode error = errorCodeOf(cause);
        engine_.refuse(error ? error : fromErrno(EIO), describe(cause), encoded());
        goOn();
    } catch (const std::exception&) {
        failInput(fromErrno(ENOMEM), cause);
    }
}

// From a task: a handler's events do not begin in a fiber of the filter's. Or in the call of receive() that runs.
void SslFilter::goOn() {
    if (!receiving_) receiveLater();
}

// ---- failures ----

void SslFilter::timeOut() noexcept {
    if (!engine_.handshakeDone() && !channel().closed())
        fail(SystemError(timedOut(), "the TLS handshake took too long"));
}

void SslFilter::fail(const SystemError& error) noexcept {
    endHandshake();
    const std::exception_ptr cause = std::make_exception_ptr(error);
    if (owner_ != nullptr && !engine_.handshakeDone()) owner_->onHandshake(error.code(), cause);
    if (!channel().closed()) failInput(error.code(), cause);
}

}  // namespace weft::detail
