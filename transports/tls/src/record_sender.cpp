#include "record_sender.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <span>
#include <utility>

#include <sys/uio.h>

#include <weft/pipeline/channel_filter.hpp>
#include <weft/scheduler/carrier.hpp>

namespace weft::detail {

namespace {

constexpr std::size_t mostParts = 16;  // of a send: 256 KiB in blocks of 16 KiB

}  // namespace

ErrorCode RecordSender::sendAll(Deadline deadline) {
    const ErrorCode error = sendInTurn(deadline);
    if (!error || lost_) return error;
    if (error != timedOut() && error != operationAborted()) return lost_ = error;
    if (!empty() && !turn_.taken()) sendLater();
    return error;
}

ErrorCode RecordSender::sendInTurn(Deadline deadline) {
    if (lost_) return lost_;
    while (!empty()) {
        const ErrorCode error = turn_.taken() ? turn_.await("TlsStream::write", deadline) : sendSome(deadline);
        if (lost_) return lost_;
        if (error) return error;
    }
    return finish();
}

// The records stay where they are, although others may be appended during the wait.
ErrorCode RecordSender::sendSome(Deadline deadline) {
    const IoTurn::Hold hold(turn_);
    ErrorCode error;
    std::array<iovec, mostParts> parts;
    records_.flush();
    records_.pin();
    const std::size_t count = records_.gather(parts.data(), parts.size(), ChannelFilter::mostEncoded);
    const std::size_t sent = socket_->writeSome(std::span(parts).first(count), deadline, error);
    records_.consume(sent);
    return error;
}

ErrorCode RecordSender::sendNow() noexcept {
    if (lost_ || turn_.taken()) return lost_;
    if (empty()) return finish();
    ErrorCode error;
    std::array<iovec, mostParts> parts;
    records_.flush();
    const std::size_t count = records_.gather(parts.data(), parts.size(), ChannelFilter::mostEncoded);
    records_.consume(socket_->tryWriteSome(std::span(parts).first(count), error));
    if (error && error != fromErrno(EAGAIN)) return lost_ = error;
    if (empty()) return finish();
    sendLater();
    return lost_;
}

// A carrier that shuts down starts no fiber; nor does it send anything any more.
void RecordSender::sendLater() noexcept {
    if (later_) return;
    if (Carrier::current() == nullptr) return void(lost_ = operationAborted());
    try {
        Carrier::current()->spawnDetached(
            [self = shared_from_this()] {
                const ErrorCode error = self->sendInTurn(never);
                self->later_ = false;
                if (error) self->lost_ = error;
            },
            {.name = "tls-records"});
        later_ = true;
    } catch (const SystemError& refused) {
        lost_ = refused.code();
    } catch (const std::exception&) {
        lost_ = fromErrno(ENOMEM);
    }
}

ErrorCode RecordSender::finish() noexcept {
    return std::exchange(ending_, false) ? socket_->shutdownOutput(never) : ErrorCode();
}

void RecordSender::close() noexcept {
    if (!lost_) lost_ = operationAborted();
    socket_->close();
}

}  // namespace weft::detail
