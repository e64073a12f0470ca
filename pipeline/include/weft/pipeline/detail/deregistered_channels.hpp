// DeregisteredChannels: the channels of the process that have left their loop's poller and are not registered again.
// Only they are unknown to the transport that closes a loop's channels, so it closes them by this list. It holds no
// references.
#pragma once

namespace weft {

class Channel;
class ChannelRef;
class EventLoop;

namespace detail {

class DeregisteredChannels {
  public:
    // Closes those whose loop this is. Context: the loop, after it has begun to refuse registrations.
    static void closeAllOf(const EventLoop& loop) noexcept;

    // Context: the channel's loop. Throws std::bad_alloc.
    static void add(Channel& channel);
    // Context: the channel's loop, or the thread that has released the last reference. Afterwards no other thread uses
    // the channel by this list.
    static void remove(Channel& channel) noexcept;

  private:
    static ChannelRef takeOne(const EventLoop& loop) noexcept;
};

}  // namespace detail
}  // namespace weft
