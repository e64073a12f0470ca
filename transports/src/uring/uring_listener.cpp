// One multishot accept runs for as long as connections are wanted. A shortage of descriptors or memory (E-7) pauses
// only this listener, by a timer of its loop.
#include "uring/uring_listener.hpp"

#include <cerrno>
#include <new>

#include <weft/pipeline/channel.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "socket_errors.hpp"
#include "uring/uring_ring.hpp"

namespace weft {

namespace {

constexpr std::size_t mostAccepted = 64;  // connections kept before the accept is cancelled

}  // namespace

const UringOperation::Kind UringListener::Accept::kind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const UringListener& self = static_cast<Accept&>(operation).listener;
        io_uring_prep_multishot_accept(&entry, self.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    },
    [](UringOperation& operation, int result, unsigned) {
        static_cast<Accept&>(operation).listener.completed(result);
    }};

// ---- accepting ----

void UringListener::wantRead(bool on) {
    wantsRead_ = on;
    if (on && !accepted_.empty()) requeue();
    adjust();
}

// Starts or cancels the accept, depending on whether connections are wanted.
void UringListener::adjust() {
    const bool wanted = listening() && wantsRead_ && !paused() && !leaving() && isRegistered() && !acceptError_;
    if (!accept_.inFlight()) {
        if (wanted && accepted_.empty()) start(accept_);
    } else if (!wanted || accepted_.size() >= mostAccepted) {
        cancel(accept_);
    }
}

void UringListener::completed(int result) {
    if (result >= 0) {
        keep(result);
    } else if (!isToBeDoneAgain(result) && !detail::connectionWasLost(-result)) {
        noteError(-result);
    }
    if (leaving()) return operationEnded();
    if (!accepted_.empty() || acceptError_) requeue();
    adjust();
}

// Returns false when there is no memory. This connection is lost; the others wait for memory.
bool UringListener::keep(int connection) noexcept {
    Fd accepted(connection, calls());
    try {
        accepted_.push(std::move(accepted));
        return true;
    } catch (const std::bad_alloc&) {
        noteError(ENOMEM);
        return false;
    }
}

void UringListener::dispatch() {
    if (leaving() || !listening()) return;
    bool delivered = false;
    for (unsigned accepts = 0; wantsRead_ && !accepted_.empty() && accepts < acceptsPerCycle; ++accepts) {
        delivered |= deliverWaiting();
        if (leaving()) return;
        if (!channel().keepReading()) break;
    }
    if (delivered) channel().onReadComplete();
    if (leaving()) return;
    if (acceptError_ && accepted_.empty()) {
        static_cast<void>(pauseAccepting());  // without a pause, adjust() starts the accept again
        channel().onError(std::exchange(acceptError_, {}));
        if (leaving()) return;
    }
    if (wantsRead_ && !accepted_.empty()) requeue();
    adjust();
}

// Delivers connections from three places: those already kept, those in completions in the ring, and those in the
// backlog. Cancels the accept first, because connections that it accepted later would be lost.
void UringListener::acceptWaiting() {
    if (!listening() || leaving()) return;
    cancel(accept_);
    submitAndFetch();
    for (int connection = -1; ring().takeResult(accept_, connection);) keep(connection);
    bool delivered = false, more = true;
    for (unsigned accepts = 0; more && accepts < mostWaiting; ++accepts) {
        while (!leaving() && !accepted_.empty()) delivered |= deliverWaiting();
        if (leaving()) return;
        const int result = acceptNow();
        more = result >= 0 ? keep(result) : detail::connectionWasLost(-result);
    }
    if (delivered) channel().onReadComplete();
}

bool UringListener::deliverWaiting() {
    try {
        deliver(accepted_.pop());
        return true;
    } catch (const std::bad_alloc&) {
        noteError(ENOMEM);
        return false;
    }
}

// ---- leaving ----

void UringListener::cancelAll() noexcept {
    cancel(accept_);
    if (!closing() || !accept_.inFlight()) return;
    // The socket closes at once, not when the end of the accept is dispatched: clients that connect after
    // acceptWaiting() would be reset.
    submitAndFetch();
    if (ring().kernelIsDoneWith(accept_)) closeDescriptor();
}

void UringListener::lastCalls() {
    cancelPause();
    accepted_.clear();
}

}  // namespace weft
