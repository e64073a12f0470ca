// UnpolledChannels: the channels of a loop whose sinks are not in its poller, such as one whose socket fibers use. The
// loop's end closes them, as its poller closes all others.
#pragma once

#include <memory>

namespace weft {

class Channel;
class EventLoop;

namespace detail {

// One per loop: EventLoop::local<UnpolledChannels>().
class UnpolledChannels {
  public:
    // The membership of one channel. Context: the loop. Leave before the channel ends.
    class Member {
      public:
        explicit Member(Channel& channel) noexcept : channel_(channel) {}
        ~Member() { leave(); }
        Member(const Member&) = delete;
        Member& operator=(const Member&) = delete;

        // Throws SystemError(operation_aborted) once the loop closes its channels, and std::bad_alloc.
        void join();
        void leave() noexcept;

      private:
        friend class UnpolledChannels;

        Channel& channel_;
        UnpolledChannels* all_ = nullptr;  // null: no member
        Member* previous_ = nullptr;
        Member* next_ = nullptr;
    };

    UnpolledChannels() = default;

    // Closes them, and refuses further ones. Context: the loop.
    static void closeAllOf(EventLoop& loop) noexcept;

  private:
    Member* first_ = nullptr;
    std::weak_ptr<EventLoop> closed_;  // the loop that refuses: a carrier may have another one later
};

}  // namespace detail
}  // namespace weft
