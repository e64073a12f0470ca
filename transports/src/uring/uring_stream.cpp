// Turns completions into cycles. A piece is passed up at once when the channel wants it and nothing else is due.
// Otherwise it is kept, and the receive is cancelled until the channel has read the kept pieces; the socket's window
// provides back-pressure.
#include "uring/uring_stream.hpp"

#include <cerrno>

#include <liburing.h>
#include <poll.h>

#include <weft/pipeline/channel.hpp>
#include <weft/transports/tcp_socket.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "cycle_limits.hpp"
#include "uring/uring_buffers.hpp"
#include "uring/uring_send_parts.hpp"

namespace weft {

namespace {

constexpr std::size_t mostArrived = 32;  // pieces kept before a receive into small buffers is cancelled: 64 KiB

}  // namespace

const UringOperation::Kind UringStream::inputKind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        const UringStream& self = static_cast<Operation&>(operation).stream;
        self.buffers().prepareReceive(entry, self.fd());
    },
    [](UringOperation& operation, int result, unsigned flags) {
        static_cast<Operation&>(operation).stream.onInput(result, flags);
    }};

const UringOperation::Kind UringStream::outputKind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        UringStream& self = static_cast<Operation&>(operation).stream;
        if (self.parts_) {
            io_uring_prep_sendmsg(&entry, self.fd(), &self.parts_->message, MSG_NOSIGNAL);
        } else {
            io_uring_prep_send(&entry, self.fd(), self.run_.data(), self.run_.size(), MSG_NOSIGNAL);
        }
    },
    [](UringOperation& operation, int result, unsigned) { static_cast<Operation&>(operation).stream.onOutput(result); },
    false};

const UringOperation::Kind UringStream::hangUpKind = {
    [](UringOperation& operation, io_uring_sqe& entry) noexcept {
        // The kernel adds POLLRDHUP. If the peer has already ended, the first completion reports only that.
        io_uring_prep_poll_multishot(&entry, static_cast<Operation&>(operation).stream.fd(), POLLHUP | POLLERR);
    },
    [](UringOperation& operation, int events, unsigned) {
        static_cast<Operation&>(operation).stream.onHangUp(events);
    }};

UringStream::UringStream(UringIoHandler& handler, Fd fd, Channel& channel) noexcept
    : StreamSink(channel, handler, std::move(fd)),
      input_(inputKind, *this),
      output_(outputKind, *this),
      hangUp_(hangUpKind, *this) {}

UringStream::~UringStream() = default;

// HC-5: input first, then the peer's end, then a write error.
void UringStream::dispatch() {
    if (leaving()) return;
    if (hungUp_) cancel(input_);
    readCycle();
    if (!leaving() && has(writeErrorDue)) reportWriteError();
}

// ---- reading ----

// `false` does nothing yet: the first unwanted piece ends the receive. So toggling without traffic costs nothing.
void UringStream::wantRead(bool on) {
    on ? set(wantsRead) : clear(wantsRead);
    if (!on || leaving()) return;
    if (has(inputEnded)) set(endDue);
    if (mayReceive()) return startInput();
    if (!arrived_.empty() || has(endDue)) requeue();  // not inside this call, which the channel made
}

bool UringStream::mayReceive() const noexcept {
    return !input_.inFlight() && arrived_.empty() && !has(inputEnded | outOfBuffers) && has(wantsRead) &&
           isRegistered();
}

bool UringStream::largeReads() const noexcept {
    return channel_.readBufferSize() > UringIoHandler::smallBytes;
}

// The buffers of the current or last receive.
UringBuffers& UringStream::buffers() const noexcept {
    return large_ ? handler().large() : handler().small();
}

void UringStream::startInput() noexcept {
    large_ = largeReads();
    if (!buffers().prepare()) return noteInputEnd(ENOMEM);
    start(input_);
    if (!hangUp_.inFlight() && !hungUp_) start(hangUp_);
}

void UringStream::onInput(int result, unsigned flags) {
    if (result > 0) {
        onPiece(buffers().take(flags, static_cast<std::size_t>(result)), flags);
    } else if (result == -ENOBUFS) {
        handler().noteRanOut(buffers());  // the bytes wait in the socket
        set(outOfBuffers);
        requeue();
    } else if (!isToBeDoneAgain(result) && !has(inputEnded)) {
        noteInputEnd(-result);
    }
    afterInput();
}

// a piece that leaves the socket empty ends the batch.
void UringStream::onPiece(Buffer&& piece, unsigned flags) {
    const bool isLast = !(flags & IORING_CQE_F_SOCK_NONEMPTY);
    if (closing() || has(inputEnded)) return;  // bytes after a lost piece are not the next
    if (isLast && arrived_.empty() && has(wantsRead) && !leaving()) return channel_.onLastRead(std::move(piece));
    try {
        arrived_.push(std::move(piece));
    } catch (const std::bad_alloc&) {
        noteInputEnd(ENOMEM);
        cancel(input_);
    }
    requeue();
}

// 0 means the peer's end.
void UringStream::noteInputEnd(int error) noexcept {
    readError_ = fromErrno(error);
    set(inputEnded | endDue);
    requeue();
}

void UringStream::afterInput() {
    if (leaving()) return operationEnded();
    if (mayReceive()) return startInput();
    const bool kept = !arrived_.empty();
    const bool unwanted = (kept && !has(wantsRead)) || arrived_.size() >= mostArrived || largeReads() != large_;
    if (input_.inFlight() && unwanted) cancel(input_);
}

void UringStream::readCycle() {
    bool delivered = false, goesOn = has(wantsRead);
    for (unsigned reads = 0; goesOn && !arrived_.empty() && reads < detail::readsPerCycle; ++reads) {
        delivered = true;
        channel_.onRead(arrived_.pop());
        if (leaving()) return;
        goesOn = has(wantsRead) && channel_.keepReading();
    }
    const bool reportsEnd = goesOn && arrived_.empty() && has(endDue);
    if (reportsEnd && !readError_ && !has(writeErrorDue)) return reportEnd();
    if (delivered) channel_.onReadComplete();  // E-6: readComplete comes before the error
    if (leaving()) return;
    if (reportsEnd) return failReading(readError_ ? readError_ : writeError_);
    clear(outOfBuffers);
    if (mayReceive()) return startInput();
    if (has(wantsRead) && (!arrived_.empty() || has(endDue))) requeue();
}

// With half-closure a channel stays open after the peer's end and no longer receives. A reset must be reported even
// then, and without a write nothing else would reveal it.
void UringStream::reportEnd() {
    clear(endDue);
    channel_.onEof();
    if (leaving() || !isRegistered()) return;
    if (hungUp_) return checkForReset();
    if (!hangUp_.inFlight()) start(hangUp_);
}

// A multishot receive does not report every reset: Linux loses some that follow bytes closely (docs/adr/0009). A
// receive started on the emptied socket does report it. Completions already in the ring are handled first, because the
// reset may be among them.
void UringStream::onHangUp(int events) {
    if (leaving()) return operationEnded();
    if (events < 0) return;
    if (!(events & (POLLHUP | POLLERR))) {
        if (!hangUp_.inFlight()) start(hangUp_);
        return;
    }
    hungUp_ = true;
    if (!has(inputEnded)) return requeue();
    if (!has(endDue)) checkForReset();
}

void UringStream::checkForReset() {
    if (has(inputFailed | outputFailed)) return;
    if (ErrorCode error = detail::takeSocketError(calls(), fd())) failReading(error);
}

// One reset is one error, whichever direction saw it.
void UringStream::failReading(const ErrorCode& error) {
    set(inputFailed | inputEnded);
    clear(writeErrorDue | endDue);
    channel_.onError(error);
}

// ---- writing ----

// One send at a time keeps the bytes in order.
bool UringStream::maySend() const noexcept {
    return !output_.inFlight() && !has(outputFailed) && !leaving() && !shuttingDown_ && isRegistered();
}

void UringStream::flush(ChannelOutput& output) {
    bytes_ = &output;
    flushed_ = output.flushedPosition();
    if (maySend()) startOutput();
}

void UringStream::startOutput() {
    const std::string_view only = bytes_->single().substr(0, detail::bytesPerEntry);
    if (only.empty()) {
        try {
            if (!parts_) parts_ = handler().takeParts();
        } catch (const std::bad_alloc&) {
            return failWriting(ENOMEM);
        }
        parts_->message.msg_iov = parts_->parts;
        parts_->message.msg_iovlen = bytes_->gather(parts_->parts, UringSendParts::maxParts, detail::bytesPerWrite);
    }
    run_ = only;
    bytes_->pin();
    start(output_);
}

// Calls the channel last, because its listeners may do anything.
void UringStream::onOutput(int result) {
    if (parts_) handler().giveParts(std::move(parts_));
    if (result > 0) channel_.onWritten(static_cast<std::size_t>(result));
    if (shuttingDown_) finishShutdown();
    if (leaving()) return operationEnded();
    if (result < 0 && !isToBeDoneAgain(result)) return failWriting(-result);
    if (!output_.inFlight() && bytes_ != nullptr && bytes_->writtenPosition() < flushed_) channel_.onWritable();
}

// Does not report the error here: the peer's last bytes may still be unread.
void UringStream::failWriting(int error) noexcept {
    writeError_ = fromErrno(error);
    set(outputFailed | writeErrorDue);
    requeue();
}

void UringStream::reportWriteError() {
    clear(writeErrorDue);
    channel_.onWriteError(writeError_);
}

// Sends what the channel flushed before it shut down its output or closed, as far as the kernel accepts it at once.
void UringStream::sendRemaining() {
    for (unsigned writes = 0; writes < detail::writesPerFlush && bytes_ != nullptr && !has(outputFailed); ++writes) {
        if (bytes_->empty()) return;
        iovec parts[UringSendParts::maxParts];
        const std::size_t count = bytes_->gather(parts, UringSendParts::maxParts, detail::bytesPerWrite);
        const ssize_t sent = calls().sendv(fd(), parts, count);
        if (sent <= 0) return;
        channel_.onWritten(static_cast<std::size_t>(sent));
    }
}

// During a deregistration, too, which has cancelled the send in flight and does not wait for what follows it.
void UringStream::shutdownOutput(ChannelPromise promise) {
    if (!isOpen() || closing()) {
        promise.tryFailure(operationAborted());
        return;
    }
    shutDown_ = std::move(promise);
    shuttingDown_ = true;
    if (!output_.inFlight()) return finishShutdown();
    cancel(output_);  // by then it has begun, and has sent what the kernel accepts at once
}

void UringStream::finishShutdown() {
    sendRemaining();
    shuttingDown_ = false;
    ChannelPromise promise = std::exchange(shutDown_, {});
    const int result = isOpen() ? calls().shutdown(fd(), SHUT_WR) : -ECANCELED;
    if (result < 0) {
        promise.tryFailure(fromErrno(-result));  // what is not sent stays with the channel
    } else {
        promise.trySuccess();
    }
}

// ---- leaving ----

void UringStream::cancelAll() noexcept {
    cancel(input_);
    cancel(output_);
    cancel(hangUp_);
}

std::size_t UringStream::maxReadBytes() const {
    return UringIoHandler::largeBytes;
}

}  // namespace weft
