// IoTurn: lets one of two fibers do what only one at a time may, and the other wait for it.
#pragma once

#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/suspension.hpp>

namespace weft::detail {

// Context: fibers of one carrier.
class IoTurn {
  public:
    bool taken() const noexcept { return taken_; }
    // Waits until the turn is over, or until `deadline`; then look again, because another fiber may have taken it.
    // Any number may wait, one after another. Throws BlockingOperationException naming `call`.
    ErrorCode await(const char* call, Deadline deadline) {
        Waiter self{waiting_};
        Suspension wait(call);
        self.key = wait.key();
        waiting_ = &self;
        const WakeReason why = wait.park(deadline);
        remove(self);
        if (why == WakeReason::timeout) return timedOut();
        return why == WakeReason::resource ? ErrorCode() : operationAborted();
    }

    // Holds the turn, which must be free.
    class Hold {
      public:
        explicit Hold(IoTurn& turn) noexcept : turn_(turn) {
            WEFT_ASSERT(!turn.taken_, "an IoTurn has two holders");
            turn.taken_ = true;
        }
        ~Hold() {
            turn_.taken_ = false;
            turn_.wakeAll();
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

      private:
        IoTurn& turn_;
    };

    // Wakes the fibers that wait.
    void wakeAll() noexcept {
        for (Waiter* waiter = waiting_; waiter != nullptr; waiter = waiter->next) {
            if (waiter->key) std::exchange(waiter->key, {}).wake();
        }
    }

  private:
    struct Waiter {
        Waiter* next;
        WakeKey key = {};
    };

    void remove(Waiter& self) noexcept {
        Waiter** link = &waiting_;
        while (*link != &self) link = &(*link)->next;
        *link = self.next;
    }

    Waiter* waiting_ = nullptr;
    bool taken_ = false;
};

}  // namespace weft::detail
