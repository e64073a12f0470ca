// ReadTimeoutHandler: closes a connection when nothing has been read for some time.
#pragma once

#include <weft/pipeline/handlers/idle_state_handler.hpp>

namespace weft {

// When `timeout` has passed since the last read cycle ended or the channel became active, fires exceptionCaught() with
// a ReadTimeoutException for the handlers after it, then closes the channel. Once.
class ReadTimeoutHandler final : public IdleStateHandler {
  public:
    // `timeout`: 0 (off) or more; throws std::invalid_argument otherwise.
    explicit ReadTimeoutHandler(Duration timeout);

  private:
    void channelIdle(ChannelHandlerContext& ctx, IdleStateEvent event) override;

    bool closing_ = false;
};

}  // namespace weft
