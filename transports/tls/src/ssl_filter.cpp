#include "ssl_filter.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/tls/ssl_handler.hpp>

namespace weft::detail {

using Step = SslEngine::Step;

void SslFilter::begin() {
    begun_ = true;
    below().wantRead(true);
    if (engine_.isServer()) return;
    engine_.begin(encoded());
    engine_.failed() ? react(Step::failed) : sendEncoded();
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
    engine_.endInput();
    receive();
}

// The handshake needs input that the channel may not want yet. Records behind it wait in the engine: at most what the
// transport has delivered in one cycle.
void SslFilter::wantRead(bool on) {
    wantsRead_ = on;
    below().wantRead(on || isShakingHands());
    if (on && !receiving_ && engine_.hasInput()) receiveLater();
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

bool SslFilter::mayReceive() const noexcept {
    return !channel().closed() && engine_.hasInput() && (wantsRead_ || !engine_.handshakeDone());
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
}

void SslFilter::receiveAll() {
    for (Step step = Step::plaintext; step == Step::plaintext || step == Step::handshakeDone;) {
        if (!mayReceive()) break;
        step = receiveOnce();
    }
    if (channel().closed()) return;
    if (encoded().pendingBytes() > 2 * mostEncoded)  // writes alone make no more than half of it
        return fail(SystemError(SslError::tooManyEmptyRecords, "the peer reads no answers to its key updates"));
    sendAnswers();
    if (refused_ && engine_.handshakeDone() && !engine_.isWaitingForPeer()) {
        refused_ = false;
        resumeOutput();
    }
}

Step SslFilter::receiveOnce() {
    Buffer plain;
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
            if (owner_ != nullptr) owner_->onHandshake({}, nullptr);
            if (!channel().closed()) below().wantRead(wantsRead_);
            return;
        case Step::peerClosed:
            if (std::exchange(peerClosed_, true)) return;
            if (owner_ != nullptr) owner_->onPeerClosed();
            if (!channel().closed()) endInput();
            return;
        case Step::failed: return fail(SystemError(engine_.error(), std::string(engine_.errorText())));
        case Step::plaintext:
        case Step::needInput: return;
    }
}

// ---- output ----

std::size_t SslFilter::encode(std::string_view plain, ChannelOutput& encoded) {
    const std::size_t taken = engine_.send(plain, encoded);
    if (taken > 0) return taken;
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

void SslFilter::sendAnswers() {
    if (encoded().position() != encoded().flushedPosition()) sendEncoded();
}

ErrorCode SslFilter::setOption(SocketOption option, int value) {
    if (option == SocketOption::linger) resets_ = value == 0;
    return ChannelFilter::setOption(option, value);
}

// ---- failures ----

void SslFilter::timeOut() noexcept {
    if (!engine_.handshakeDone() && !channel().closed())
        fail(SystemError(timedOut(), "the TLS handshake took too long"));
}

void SslFilter::fail(const SystemError& error) noexcept {
    const std::exception_ptr cause = std::make_exception_ptr(error);
    if (owner_ != nullptr && !engine_.handshakeDone()) owner_->onHandshake(error.code(), cause);
    if (!channel().closed()) failInput(error.code(), cause);
}

}  // namespace weft::detail
