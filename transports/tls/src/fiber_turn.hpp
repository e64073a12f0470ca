// FiberTurn: the place of a fiber's stream among the handshakes of its carrier.
#pragma once

#include <utility>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

#include "handshake_turns.hpp"
#include "io_turn.hpp"

namespace weft::detail {

// Context: fibers of the carrier, any number of which may wait.
class FiberTurn final : public HandshakePlace {
  public:
    // Waits for a turn, in which one step may be made. Where nothing may wait, it is there at once.
    ErrorCode await(EventLoop& loop, unsigned most, Deadline deadline) {
        while (Suspension::allowed() && !std::exchange(granted_, false) && !takeTurn(loop, most)) {
            if (const ErrorCode error = waiters_.await("TlsStream::handshake", deadline)) return error;
        }
        return {};
    }

  private:
    void onTurn() noexcept override {
        granted_ = true;
        waiters_.wakeAll();
    }

    IoTurn waiters_;
    bool granted_ = false;
};

}  // namespace weft::detail
