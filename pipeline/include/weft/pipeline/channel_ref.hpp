// ChannelRef: a counted reference to a Channel. Code outside the channel's loop keeps one.
#pragma once

#include <cstddef>
#include <utility>

namespace weft {

class Channel;

namespace detail {
class DeregisteredChannels;
void retainChannel(Channel& channel) noexcept;
void releaseChannel(Channel& channel) noexcept;
}  // namespace detail

// Copyable; may be null. Context: any thread. Never blocks, allocates or throws. Lifetime: a channel lives as long as
// any reference to it; it holds one to itself from registration until its handlers have been removed. It keeps the loop
// of an EventLoopGroup, which closes its channels and then refuses their operations, so every call is allowed after the
// group's end, too. For other loops see Channel::create().
class ChannelRef {
  public:
    ChannelRef() noexcept = default;
    ChannelRef(std::nullptr_t) noexcept {}
    explicit ChannelRef(Channel& channel) noexcept : channel_(&channel) { detail::retainChannel(channel); }
    ChannelRef(const ChannelRef& other) noexcept : channel_(other.channel_) {
        if (channel_) detail::retainChannel(*channel_);
    }
    ChannelRef(ChannelRef&& other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}
    ChannelRef& operator=(ChannelRef other) noexcept {
        std::swap(channel_, other.channel_);
        return *this;
    }
    ~ChannelRef() {
        if (channel_) detail::releaseChannel(*channel_);
    }

    Channel* get() const noexcept { return channel_; }
    Channel& operator*() const noexcept { return *channel_; }
    Channel* operator->() const noexcept { return channel_; }
    explicit operator bool() const noexcept { return channel_ != nullptr; }
    friend bool operator==(const ChannelRef& left, const ChannelRef& right) noexcept {
        return left.channel_ == right.channel_;
    }

  private:
    friend class Channel;
    friend class detail::DeregisteredChannels;
    // Takes over a reference that the caller counted.
    static ChannelRef adopt(Channel* channel) noexcept {
        ChannelRef ref;
        ref.channel_ = channel;
        return ref;
    }
    Channel* channel_ = nullptr;
};

}  // namespace weft
