// ChannelPin: keeps a channel and the contexts of its handlers, removed ones too, alive for a fiber or a posted
// operation.
#pragma once

#include <weft/pipeline/channel.hpp>

namespace weft::detail {

// Context: construct it on the channel's loop or while another pin exists; destroy it on any thread.
class ChannelPin {
  public:
    explicit ChannelPin(Channel& channel) noexcept : channel_(ChannelRef(channel)) { channel.pin(); }
    ChannelPin(ChannelPin&& other) noexcept = default;  // leaves other empty
    ChannelPin& operator=(ChannelPin&&) = delete;
    ~ChannelPin() {
        if (channel_) channel_->unpin();
    }

    Channel& channel() const noexcept { return *channel_; }  // not after a move from it

  private:
    ChannelRef channel_;
};

}  // namespace weft::detail
