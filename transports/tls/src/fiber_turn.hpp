// FiberTurn: the place of a fiber's stream among the handshakes of its carrier.
#pragma once

#include <utility>

#include <weft/scheduler/carrier.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

#include "handshake_turns.hpp"
#include "io_turn.hpp"

namespace weft::detail {

// Context: fibers of the carrier, any number of which may wait.
class FiberTurn final : public HandshakePlace {
  public:
    // Waits for a turn, in which one step may be made, as long as `needed()`: another fiber may make the step, or close
    // the stream. Where nothing may wait, the turn is there at once.
    template <class Needed>
    ErrorCode await(Carrier& carrier, unsigned most, Deadline deadline, Needed needed) {
        while (needed() && Suspension::allowed() && !std::exchange(granted_, false)) {
            EventLoop* const loop = EventLoop::of(carrier);
            if (loop == nullptr) return operationAborted();
            if (takeTurn(*loop, most)) break;
            if (const ErrorCode error = waiters_.await("TlsStream::handshake", deadline)) return error;
        }
        return {};
    }
    // As endHandshake(); those that wait look again.
    void end() noexcept {
        endHandshake();
        granted_ = false;
        waiters_.wakeAll();
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
