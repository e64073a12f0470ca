#include "ssl_filter.hpp"

#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/tls/ssl_handler.hpp>

namespace weft::detail {

using Step = SslEngine::Step;

void SslFilter::begin() {
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

// Port scanners and health checks connect and leave: no error.
void SslFilter::onEof() noexcept {
    if (!hadInput_) return endInput();
    engine_.endInput();
    receive();
}

void SslFilter::receive() noexcept {
    try {
        for (Step step = Step::plaintext; step == Step::plaintext || step == Step::handshakeDone;) {
            if (channel().closed() || !engine_.hasInput()) break;
            step = receiveOnce();
        }
        if (channel().closed()) return;
        sendAnswers();
        if (refused_ && engine_.handshakeDone() && !engine_.isWaitingForPeer()) {
            refused_ = false;
            resumeOutput();
        }
    } catch (const std::bad_alloc&) {
        failInput(fromErrno(ENOMEM));
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
            return;
        case Step::peerClosed:
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
