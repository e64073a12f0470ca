// ReadCycle: the state of a channel's reading: the permission to read, the last value given to wantRead(), the messages
// of the running cycle, and the end of input (R-1 to R-4, HC-2). Owned by the channel, which calls the sink.
#pragma once

#include <utility>

namespace weft::detail {

// Context: the channel's loop.
class ReadCycle {
  public:
    // Counts a message of the running cycle and uses up the permission: a later read() permits the next cycle.
    void count() noexcept {
        ++messages_;
        permitted_ = false;
    }
    void complete() noexcept { messages_ = 0; }
    bool running() const noexcept { return messages_ > 0; }
    unsigned messages() const noexcept { return messages_; }

    // True if a read() has been called that no cycle has used yet.
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
    // True on the first call only. The sink's second report of the end of input fires InputShutdownReadCompleteEvent;
    // later reports fire nothing.
    bool takeSecondReport() noexcept { return !std::exchange(secondReport_, true); }

  private:
    unsigned messages_ = 0;  // delivered in the running cycle; 0: no cycle is running
    bool permitted_ = false;
    bool wanted_ = false;
    bool inputEnded_ = false;
    bool secondReport_ = false;
};

}  // namespace weft::detail
