// ReadCycle: what a channel's reads need to remember: the permission to read, what the sink was last told, the messages
// of the running cycle, and the end of input (R-1 to R-4, HC-2). Owned by the channel, which calls the sink.
#pragma once

#include <utility>

namespace weft::detail {

// Context: the channel's loop.
class ReadCycle {
  public:
    // A message of the cycle: it uses the permission; a read() from here on is for the next cycle.
    void count() noexcept {
        ++messages_;
        permitted_ = false;
    }
    void complete() noexcept { messages_ = 0; }
    bool running() const noexcept { return messages_ > 0; }
    unsigned messages() const noexcept { return messages_; }

    // A read() that no cycle has used yet.
    bool permitted() const noexcept { return permitted_; }
    void permit() noexcept { permitted_ = true; }
    void forbid() noexcept { permitted_ = false; }

    // The last value given to ChannelSink::wantRead(). True implies that the channel is open and its input has not
    // ended.
    bool wanted() const noexcept { return wanted_; }
    void setWanted(bool on) noexcept { wanted_ = on; }

    // The peer has ended its output, and the channel stays open (ALLOW_HALF_CLOSURE).
    bool inputEnded() const noexcept { return inputEnded_; }
    void endInput() noexcept { inputEnded_ = true; }
    // True at the first call: the second report of the end of input has its own event.
    bool takeSecondReport() noexcept { return !std::exchange(secondReport_, true); }

  private:
    unsigned messages_ = 0;  // delivered in the running cycle; 0: no cycle is running
    bool permitted_ = false;
    bool wanted_ = false;
    bool inputEnded_ = false;
    bool secondReport_ = false;
};

}  // namespace weft::detail
