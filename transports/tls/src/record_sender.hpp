// RecordSender: the records of a fiber's stream on their way to its socket.
#pragma once

#include <memory>

#include <weft/pipeline/channel_output.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/transports/fiber_stream.hpp>

#include "io_turn.hpp"

namespace weft::detail {

// Records leave in the order in which they were appended, by one fiber at a time. What a call leaves behind is sent by
// a fiber of its own, which keeps this object. Context: fibers of the socket's carrier.
class RecordSender : public std::enable_shared_from_this<RecordSender> {
  public:
    explicit RecordSender(std::unique_ptr<FiberStream> socket) noexcept : socket_(std::move(socket)) {}

    FiberStream& socket() noexcept { return *socket_; }
    const FiberStream& socket() const noexcept { return *socket_; }
    // For the engine, which appends.
    ChannelOutput& records() noexcept { return records_; }
    bool empty() const noexcept { return records_.pendingBytes() == 0; }

    // Sends all records, also those that are appended meanwhile. Blocks the fiber. Returns the error of the socket;
    // what is left is then sent by a fiber.
    ErrorCode sendAll(Deadline deadline);
    // One call of the socket at most, unless another fiber sends; what is left is sent by a fiber. Returns the error
    // of the socket, which is not EAGAIN.
    ErrorCode sendNow() noexcept;
    // The output of the socket ends once all records have been sent: the next call that finds none left ends it.
    void endOutput() noexcept { ending_ = true; }
    void close() noexcept;

  private:
    ErrorCode sendInTurn(Deadline deadline);
    ErrorCode sendSome(Deadline deadline);
    void sendLater() noexcept;
    ErrorCode finish() noexcept;

    std::unique_ptr<FiberStream> socket_;
    ChannelOutput records_;
    IoTurn turn_;          // of the fiber that sends
    ErrorCode lost_;       // of the fiber that sent later
    bool later_ = false;   // that fiber exists
    bool ending_ = false;  // endOutput() was called
};

}  // namespace weft::detail
