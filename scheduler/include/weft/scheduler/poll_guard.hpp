// PollGuard: the part of a poll in which a transport may block in the kernel. Its event loop, or the author of a hosted
// poller, makes one and passes it to IoHandler::poll().
#pragma once

namespace weft {

class Carrier;
class EventLoop;

// A transport may block only under a PollGuard. It calls enter() immediately before its blocking system call; if
// enter() returns false, work has arrived and the system call must not block. After an enter() that returned true, it
// calls leave() right after the system call, before it dispatches any event. Context: the hosted poller's fiber. Never
// blocks, allocates or throws. Ordering: edges [K1]-[K4] of docs/explanation/protocol.md.
class PollGuard {
  public:
    explicit PollGuard(Carrier& carrier, const EventLoop* loop = nullptr) noexcept : carrier_(carrier), loop_(loop) {}
    PollGuard(const PollGuard&) = delete;
    PollGuard& operator=(const PollGuard&) = delete;

    [[nodiscard]] bool enter() noexcept;
    // Pass `toWork` = false only if the system call returned no events to dispatch. It lets the steal cluster's
    // sentinel (the carrier that sleeps with a deadline to check the others' queues) keep that role.
    void leave(bool toWork = true) noexcept;

  private:
    Carrier& carrier_;
    const EventLoop* loop_;  // its task queue and handler count as work, too; null: a user's own poller
};

}  // namespace weft
