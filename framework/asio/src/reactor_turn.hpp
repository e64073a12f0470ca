// ReactorTurn: what the reactor does when Asio asks it for events. See docs/explanation/protocol.md, section 15.
#pragma once

namespace weft::asio_io::detail {

// Operates on a host: the Reactor, or a model of it in the model explorer. Context: the loop. The host provides
//   maySleep(): the turn has called no handler, and the carrier may sleep
//   enter(), leave(): those of the carrier's guard
//   wait(): the blocking system call, with no other call that polls the kernel before it; look(): the same without
//   blocking
//   wantsLook(): whether to look for events in a turn that does not sleep
//   nothingFound(): no event for Asio; endTurn(): ends the turn
template <class Host>
class ReactorTurn {
  public:
    explicit ReactorTurn(Host& host) noexcept : host_(host) {}

    // `idle`: Asio has nothing else to call. Leaves the guard before Asio calls anything. Asio asks again when it has
    // nothing to call; the turn must end instead, because only the carrier knows whether it may sleep again. [A1]
    void run(bool idle) {
        if (!idle) return host_.look();
        if (host_.maySleep() && host_.enter()) {
            host_.wait();
            host_.leave();
        } else if (host_.wantsLook()) {
            host_.look();
        }
        if (host_.nothingFound()) host_.endTurn();
    }

  private:
    Host& host_;
};

}  // namespace weft::asio_io::detail
