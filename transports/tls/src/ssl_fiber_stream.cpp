#include "ssl_fiber_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include <sys/uio.h>

#include <weft/pipeline/channel_filter.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/suspension.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft::detail {

namespace {

constexpr std::size_t mostPlain = SslEngine::mostPlaintext;

std::string_view viewOf(const iovec& part) noexcept {
    return {static_cast<const char*>(part.iov_base), part.iov_len};
}

}  // namespace

class SslFiberStream::Claim {
  public:
    Claim(bool& taken, ErrorCode& error) noexcept : taken_(taken), won_(!std::exchange(taken, true)) {
        error = won_ ? ErrorCode() : fromErrno(EALREADY);
    }
    ~Claim() {
        if (won_) taken_ = false;
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

  private:
    bool& taken_;
    const bool won_;
};

// What every call fails with, or none.
ErrorCode SslFiberStream::state() const noexcept {
    if (!isOpen()) return operationAborted();
    if (timedOut_) return weft::timedOut();
    return engine_.error();
}

std::string_view SslFiberStream::errorText() const noexcept {
    return timedOut_ ? "the TLS handshake took too long" : engine_.errorText();
}

// ---- handshake ----

ErrorCode SslFiberStream::connect(const SocketAddress&, Deadline) {
    return fromErrno(EISCONN);
}

ErrorCode SslFiberStream::handshake(Deadline deadline) {
    ErrorCode reading, writing;
    const Claim reads(reads_, reading);
    const Claim writes(writes_, writing);
    if (reading || writing) return reading ? reading : writing;
    try {
        return shakeHands(deadline);
    } catch (const std::bad_alloc&) {
        return fromErrno(ENOMEM);
    }
}

// ---- input ----

// Reads once from the socket, or waits until another fiber has.
ErrorCode SslFiberStream::pump(Deadline deadline) {
    if (input_.taken()) return input_.await("TlsStream::read", deadline);
    ErrorCode error;
    const IoTurn::Hold hold(input_);
    if (unfed_.empty()) {
        Buffer bytes = out_->socket().readSome(mostPlain, deadline, error);
        if (error) return error;
        if (bytes.empty()) engine_.endInput();
        unfed_ = std::move(bytes);
    }
    feed();
    return {};
}

// If there is no memory, the bytes stay.
void SslFiberStream::feed() {
    if (!unfed_.empty()) engine_.feed(std::move(unfed_));
    unfed_ = Buffer();
}

// After the handshake. False: nothing more can be received now. A record of which libssl has a part counts as input, so
// ask receive().
bool SslFiberStream::receiveOnce(std::size_t most) {
    if (!engine_.hasInput()) return false;
    touch();
    Buffer plain = Buffer::allocate(std::min(most, mostPlain));
    const SslEngine::Step step = engine_.receive(plain, out_->records());
    if (plain_.empty()) {
        plain_ = plain.empty() ? Buffer() : std::move(plain);  // a waiting fiber holds no buffer
    } else {
        plain_.append(plain.view());
    }
    if (step == SslEngine::Step::peerClosed) ended_ = true;
    return step == SslEngine::Step::plaintext;
}

// True: there is plaintext.
bool SslFiberStream::receive(std::size_t most, ErrorCode& error) {
    while (plain_.empty() && receiveOnce(most)) {
    }
    out_->sendNow();  // a failure is the writer's
    if (!plain_.empty()) return true;
    if (out_->records().pendingBytes() > 2 * ChannelFilter::mostEncoded)
        error = SslError::tooManyEmptyRecords;  // the peer reads no answers to its key updates
    if (!error && engine_.failed()) error = state();
    return false;
}

// False: the end of the stream, or an error.
bool SslFiberStream::fill(std::size_t most, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();
    if (!plain_.empty() && isOpen()) return true;
    for (error = shakeHands(deadline); !error; error = pump(deadline)) {
        if (receive(most, error)) return true;
        if (error || ended_) break;
    }
    return false;
}

std::size_t SslFiberStream::takePlain(std::span<char> into) noexcept {
    const std::size_t count = std::min(into.size(), plain_.readableBytes());
    std::memcpy(into.data(), plain_.readData(), count);
    plain_.consumed(count);
    if (plain_.empty()) plain_ = Buffer();
    return count;
}

std::size_t SslFiberStream::readSome(std::span<char> into, Deadline deadline, ErrorCode& error) {
    const Claim claim(reads_, error);
    if (error) return 0;
    try {
        if (!fill(into.size(), deadline, error)) return 0;
    } catch (const std::bad_alloc&) {
        error = fromErrno(ENOMEM);
        return 0;
    }
    return takePlain(into);
}

Buffer SslFiberStream::readSome(std::size_t most, Deadline deadline, ErrorCode& error) {
    const Claim claim(reads_, error);
    if (error) return {};
    try {
        if (!fill(most, deadline, error)) return {};
    } catch (const std::bad_alloc&) {
        error = fromErrno(ENOMEM);
        return {};
    }
    return plain_.readableBytes() <= most ? std::exchange(plain_, Buffer()) : plain_.split(most);
}

// Records without data take a call each.
std::size_t SslFiberStream::tryReadSome(std::span<char> into, ErrorCode& error) noexcept {
    const Claim claim(reads_, error);
    if (error) return 0;
    if (isOpen() && !plain_.empty()) return takePlain(into);
    error = state();
    if (!error && (!engine_.handshakeDone() || input_.taken())) error = fromErrno(EAGAIN);
    try {
        while (!error && !ended_) {
            if (receive(into.size(), error)) return takePlain(into);
            if (error || ended_) break;
            if (unfed_.empty()) {
                Buffer bytes = Buffer::allocate(mostPlain);
                bytes.produced(out_->socket().tryReadSome({bytes.writeData(), mostPlain}, error));
                if (!error && bytes.empty()) engine_.endInput();
                unfed_ = bytes.empty() ? Buffer() : std::move(bytes);
            }
            feed();
        }
    } catch (const std::bad_alloc&) {
        error = fromErrno(ENOMEM);
    }
    return 0;
}

// ---- output ----

// Appends records with the first bytes of `parts` until `most` bytes wait. Small parts share a record.
std::size_t SslFiberStream::encode(std::span<const iovec> parts, std::size_t most) noexcept {
    constexpr std::size_t worthARecord = 4096;
    std::size_t taken = 0;
    touch();
    for (std::size_t part = 0, begin = 0; part < parts.size() && out_->records().pendingBytes() < most;) {
        std::string_view bytes = viewOf(parts[part]).substr(begin);
        Buffer joined;
        const std::size_t record = engine_.recordBytes();
        if (bytes.size() < std::min(worthARecord, record) && part + 1 < parts.size())
            joined = Buffer::tryAllocate(record);
        if (joined) {
            for (std::size_t next = part, from = begin; next < parts.size(); ++next, from = 0) {
                const std::string_view more = viewOf(parts[next]).substr(from);
                joined.append(more.substr(0, record - joined.readableBytes()));
            }
            bytes = joined.view();
        }
        std::size_t sent = bytes.empty() ? 0 : engine_.send(bytes, out_->records());
        if (sent == 0 && !bytes.empty()) break;
        taken += sent;
        for (sent += begin, begin = 0; part < parts.size() && sent >= parts[part].iov_len; ++part)
            sent -= parts[part].iov_len;
        begin = sent;
    }
    return taken;
}

std::size_t SslFiberStream::writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) {
    thisFiber::yieldIfDue();
    const Claim claim(writes_, error);
    if (error) return 0;
    try {
        return sendParts(parts, deadline, error);
    } catch (const std::bad_alloc&) {
        error = fromErrno(ENOMEM);
        return 0;
    }
}

// Once the bytes are taken, nothing may throw: where no fiber may wait, what the socket does not take is sent later.
std::size_t SslFiberStream::sendParts(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) {
    std::size_t taken = 0;
    while (taken == 0) {
        error = awaitWritable(deadline);
        if (!error && outputEnded_) error = fromErrno(EPIPE);
        if (!error) error = out_->sendAll(deadline);  // what calls before have left
        if (error) return 0;
        taken = encode(parts, ChannelFilter::mostEncoded);
        if (taken == 0 && engine_.failed()) return error = engine_.error(), 0;
    }
    error = Suspension::allowed() ? out_->sendAll(deadline) : out_->sendNow();
    return taken;
}

std::size_t SslFiberStream::tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept {
    const Claim claim(writes_, error);
    if (!error) error = state();
    if (!error && outputEnded_) error = fromErrno(EPIPE);
    if (!error && (!engine_.handshakeDone() || engine_.isWaitingForPeer() || !out_->empty())) error = fromErrno(EAGAIN);
    if (error) return 0;
    const std::size_t taken = encode(parts, 2 * mostPlain);
    error = out_->sendNow();
    if (!error && taken == 0) error = engine_.error();
    return taken;
}

// ---- the end ----

ErrorCode SslFiberStream::shutdownOutput(Deadline deadline) {
    try {
        if (const ErrorCode error = shakeHands(deadline)) return error;
        if (engine_.isWaitingForPeer()) return fromErrno(EAGAIN);
        if (!std::exchange(outputEnded_, true)) {
            engine_.closeOutput(out_->records());
            if (engine_.failed()) return engine_.error();
            out_->endOutput();
        }
        return Suspension::allowed() ? out_->sendAll(deadline) : out_->sendNow();
    } catch (const std::bad_alloc&) {
        return fromErrno(ENOMEM);
    }
}

void SslFiberStream::close() noexcept {
    if (const auto lookup = std::exchange(lookup_, nullptr)) lookup->cancel();
    if (isOpen()) end();
    forget();
    turn_.end();
}

void SslFiberStream::end() noexcept {
    if (engine_.handshakeDone() && out_->empty() && !closesByReset()) {
        if (!outputEnded_) engine_.closeOutput(out_->records());
        out_->endOutput();
        out_->sendNow();
        dropInput();
    }
    out_->close();
}

// Linger 0: what was not sent is discarded, so the end must not look complete.
bool SslFiberStream::closesByReset() const {
    int seconds = -1;
    return !out_->socket().getOption(SocketOption::linger, seconds) && seconds == 0;
}

// The kernel would send a reset for bytes that have not been read, such as tickets, and forget what it has still to
// send.
void SslFiberStream::dropInput() noexcept {
    constexpr int mostCalls = 16;
    std::array<char, 4096> bytes;
    ErrorCode error;
    for (int calls = 0; calls < mostCalls && !error; ++calls) {
        if (out_->socket().tryReadSome(bytes, error) == 0) return;
    }
}

}  // namespace weft::detail
