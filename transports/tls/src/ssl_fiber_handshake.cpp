// The handshake of a fiber's stream: by whichever call comes first, step by step, each in its turn.
#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <utility>

#include <weft/scheduler/event_loop.hpp>

#include "ssl_fiber_stream.hpp"

namespace weft::detail {

ErrorCode SslFiberStream::shakeHands(Deadline deadline) {
    if (engine_.handshakeDone()) [[likely]]
        return state();
    const ErrorCode error = receiveUntil([this] { return engine_.handshakeDone(); }, std::min(deadline, handshakeEnd_));
    if (error != weft::timedOut() || deadline < handshakeEnd_ || engine_.handshakeDone()) return error;
    timedOut_ = true;
    turn_.end();
    return error;
}

// TLS 1.3 forbids to send while a message of the peer is incomplete.
ErrorCode SslFiberStream::awaitWritable(Deadline deadline) {
    if (const ErrorCode error = shakeHands(deadline)) return error;
    if (!engine_.isWaitingForPeer()) [[likely]]
        return {};
    return receiveUntil([this] { return !engine_.isWaitingForPeer(); }, deadline);
}

// Waits for its turn, because a step takes long. False: there is none to make, or an error.
bool SslFiberStream::step(Deadline deadline, ErrorCode& error) {
    if (lookup_) return choose(deadline, error);
    if (!hasStep()) return false;
    error = turn_.await(carrier_, engine_.mostHandshakes(), deadline, [this] { return hasStep(); });
    if (error) return false;
    if (hasStep()) makeStep();
    if (engine_.handshakeDone() || engine_.failed() || !isOpen()) turn_.end();
    return true;
}

void SslFiberStream::makeStep() {
    touch();
    if (greets()) {
        begun_ = true;
        return engine_.begin(out_->records());
    }
    Buffer none;
    if (engine_.receive(none, out_->records()) == SslEngine::Step::needContext) lookUp();
}

// ---- the choice of a context ----

void SslFiberStream::lookUp() {
    try {
        lookup_ = ContextLookup::begin(carrier_, engine_.lookup(), handshakeEnd_);
    } catch (const SystemError& refused) {
        engine_.refuse(refused.code(), {}, out_->records());
    } catch (const std::exception&) {
        engine_.refuse(fromErrno(ENOMEM), {}, out_->records());
    }
}

// Waits for the result. False: an error.
bool SslFiberStream::choose(Deadline deadline, ErrorCode& error) {
    const std::shared_ptr<ContextLookup> lookup = lookup_;
    if (!lookup->done()) error = lookup->await(deadline);
    if (error) return false;
    if (!lookup->done() || lookup_ != lookup) return true;  // cancelled, or another fiber was first
    lookup_ = nullptr;
    if (lookup->error()) {
        engine_.refuse(lookup->error(), lookup->text(), out_->records());
        return true;
    }
    try {
        engine_.choose(lookup->found());
    } catch (const std::invalid_argument& clients) {
        engine_.refuse(fromErrno(EINVAL), clients.what(), out_->records());
    }
    return true;
}

void SslFiberStream::touch() noexcept {
    if (used()) [[likely]]
        return;
    if (EventLoop* const loop = EventLoop::of(carrier_)) join(*loop);
}

// Sends what the engine answers, and at last its alert.
template <class Ready>
ErrorCode SslFiberStream::receiveUntil(Ready ready, Deadline deadline) {
    for (;;) {
        ErrorCode error;
        while (!ready() && (engine_.handshakeDone() ? receiveOnce(SslEngine::mostPlaintext) : step(deadline, error))) {
        }
        if (engine_.failed()) out_->sendNow();
        if (const ErrorCode failure = state()) return turn_.end(), failure;
        if (error) return error;
        error = out_->sendAll(deadline);
        if (ready()) return {};  // a peer that has gone may have sent data before; a writer finds the error
        if (error) return error;
        if (ended_) return fromErrno(EPIPE);
        error = pump(deadline);
        if (!error) continue;
        if (error != weft::timedOut() && error != operationAborted()) turn_.end();  // the socket's
        return error;
    }
}

}  // namespace weft::detail
