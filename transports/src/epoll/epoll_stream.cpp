// Turns edges into cycles. `readable` and `kernelFull` remember what edge-triggered epoll reports only once. Every exit
// from a cycle either uses them up or requests another dispatch.
#include "epoll/epoll_stream.hpp"

#include <array>
#include <cerrno>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "cycle_limits.hpp"

namespace weft {

namespace {

constexpr std::size_t partsPerWrite = 64;
constexpr std::uint32_t writableBits = EPOLLOUT | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t moreBits = EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR;

}  // namespace

// Fast path: bytes for a channel that wants them, and nothing else to handle.
void EpollStream::onEvents(std::uint32_t events) {
    const bool onlyInput = flags_ == wantsRead && (events & (EPOLLIN | moreBits)) == EPOLLIN;
    if (!onlyInput) [[unlikely]]
        return onOtherEvents(events);
    Buffer buffer = Buffer::tryAllocate(channel_.readBufferSize());
    const ssize_t count = receive(buffer);
    if (count > 0 && static_cast<std::size_t>(count) < buffer.writableBytes()) [[likely]] {  // socket empty
        buffer.produced(static_cast<std::size_t>(count));
        channel_.onLastRead(std::move(buffer));
    } else {
        set(readable);
        readSlow(buffer, count);
    }
    if (has(writeErrorDue)) [[unlikely]]
        reportWriteError();
}

[[gnu::noinline]] void EpollStream::onOtherEvents(std::uint32_t events) {
    if (events & (EPOLLHUP | EPOLLERR)) set(hungUp);
    // HC-5: output and errors first, then input, then the peer's end.
    if (has(writeQueued) || (has(kernelFull) && (events & writableBits))) continueWriting();
    if (!isOpen()) return;
    if (events & (EPOLLIN | moreBits)) set(readable);
    if (events & moreBits) set(neverEmptied);
    continueReading();
    if (has(writeErrorDue)) reportWriteError();
    if (hasAll(inputEnded | hungUp)) failAfterEnd();
}

// ---- reading ----

void EpollStream::wantRead(bool on) {
    on ? set(wantsRead) : clear(wantsRead);
    if (on && has(readable)) requeue();  // not inside this call, which the channel made
}

void EpollStream::continueReading() {
    if (!has(readable) || !has(wantsRead) || has(inputFailed)) return;
    Buffer buffer = Buffer::tryAllocate(channel_.readBufferSize());
    readSlow(buffer, receive(buffer));
}

inline ssize_t EpollStream::receive(Buffer& into) noexcept {
    // Out of memory is an error of this channel (E-6), not of the loop.
    return into ? calls().recv(fd(), into.writeData(), into.writableBytes()) : -ENOMEM;
}

[[gnu::noinline]] void EpollStream::readSlow(Buffer& buffer, ssize_t count) {
    bool delivered = false;
    ReadStep step = take(buffer, count, delivered);
    for (unsigned reads = 1; step == ReadStep::next && reads < detail::readsPerCycle; ++reads) {
        Buffer next = Buffer::tryAllocate(channel_.readBufferSize());
        step = take(next, receive(next), delivered);
    }
    if (step != ReadStep::done) finishReading(step, delivered);
}

EpollStream::ReadStep EpollStream::take(Buffer& buffer, ssize_t count, bool& delivered) {
    if (count < 0) {
        clear(readable);
        if (detail::wouldBlock(count)) return ReadStep::pause;
        readError_ = static_cast<std::int16_t>(-count);
        return ReadStep::failed;
    }
    if (count == 0) return ReadStep::ended;
    // a short read empties the socket, and later bytes cause a new edge. The exceptions are the peer's end, which
    // may already follow, and an urgent byte, at which recv() stops.
    const bool drained = static_cast<std::size_t>(count) < buffer.writableBytes() && !has(neverEmptied);
    buffer.produced(static_cast<std::size_t>(count));
    if (drained) {
        clear(readable);
        channel_.onLastRead(std::move(buffer));
        return ReadStep::done;
    }
    delivered = true;
    channel_.onRead(std::move(buffer));
    if (!isOpen()) return ReadStep::done;
    return !has(wantsRead) || !channel_.keepReading() ? ReadStep::pause : ReadStep::next;
}

void EpollStream::finishReading(ReadStep how, bool delivered) {
    if (how == ReadStep::ended && !has(writeErrorDue)) {
        set(readable | inputEnded);  // the end persists: a channel that reads again is told again (HC-2)
        return channel_.onEof();
    }
    if (delivered) channel_.onReadComplete();  // E-6: readComplete comes before the error
    if (!isOpen()) return;
    if (how == ReadStep::failed) return failReading(fromErrno(readError_));
    if (how == ReadStep::ended) return failReading(fromErrno(writeError_));
    if (has(readable) && has(wantsRead)) requeue();
}

// One reset is one error, whichever direction saw it: a failed write clears the socket's error, so that the read then
// looks like an orderly end.
void EpollStream::failReading(const ErrorCode& error) {
    set(inputFailed);
    clear(writeErrorDue);
    channel_.onError(error);
}

// With half-closure a channel stays open after the peer's end and no longer reads. A reset must be reported even then:
// reading may be off, and without a write nothing else would reveal it.
void EpollStream::failAfterEnd() {
    clear(hungUp);
    if (!isOpen() || has(inputFailed | outputFailed)) return;
    if (ErrorCode error = detail::takeSocketError(calls(), fd())) failReading(error);
}

// ---- writing ----

void EpollStream::flush(ChannelOutput& output) {
    if (!sendOnce(output)) [[unlikely]]
        sendMore(output);
}

[[gnu::noinline]] void EpollStream::sendMore(ChannelOutput& output) {
    for (unsigned writes = 1; writes < detail::writesPerFlush; ++writes) {
        if (sendOnce(output)) return;
    }
    set(writeQueued);  // fairness: the rest follows in the next poll, which will not block
    requeue();
}

inline ssize_t EpollStream::send(std::string_view bytes) {
    return calls().send(fd(), bytes.data(), bytes.size());
}

// True: there is no more to send now.
inline bool EpollStream::sendOnce(ChannelOutput& output) {
    if (!mayWrite()) return true;
    const ssize_t written = output.pieces() == 0 ? send(output.single()) : sendPieces(output);
    if (written < 0) [[unlikely]]
        return refused(written), true;
    return channel_.onWritten(static_cast<std::size_t>(written));
}

ssize_t EpollStream::sendPieces(const ChannelOutput& output) {
    if (const std::string_view only = output.single(); !only.empty()) return send(only);
    std::array<iovec, partsPerWrite> parts;
    const std::size_t count = output.gather(parts.data(), parts.size(), detail::bytesPerWrite);
    return calls().sendv(fd(), parts.data(), count);
}

[[gnu::cold, gnu::noinline]] void EpollStream::refused(ssize_t result) noexcept {
    if (detail::wouldBlock(result)) {
        set(kernelFull);
    } else {
        failWriting(static_cast<int>(-result));
    }
}

// Does not report the error here: the channel is in the middle of its flush (C-3), and the peer's last bytes may still
// be unread.
void EpollStream::failWriting(int error) noexcept {
    writeError_ = static_cast<std::int16_t>(error);
    set(outputFailed | writeErrorDue);
    requeue();
}

void EpollStream::continueWriting() {
    clear(writeQueued | kernelFull);
    if (!has(outputFailed)) channel_.onWritable();
}

void EpollStream::reportWriteError() {
    if (!isOpen()) return;
    clear(writeErrorDue);
    channel_.onWriteError(fromErrno(writeError_));
}

void EpollStream::shutdownOutput(ChannelPromise promise) {
    if (!isOpen()) {
        promise.tryFailure(operationAborted());
        return;
    }
    const int result = calls().shutdown(fd(), SHUT_WR);
    if (result < 0) {
        promise.tryFailure(fromErrno(-result));
    } else {
        promise.trySuccess();
    }
}

// ---- leaving ----

void EpollStream::deregister(ChannelPromise promise) {
    detach(true);
    promise.trySuccess();
}

void EpollStream::close(ChannelPromise promise) {
    closeSocket();
    promise.trySuccess();
}

}  // namespace weft
