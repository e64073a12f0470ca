// ServerAcceptor: the last handler of a listener's pipeline. It turns accepted sockets into connections of the server.
#pragma once

#include <memory>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/simple_inbound_handler.hpp>
#include <weft/scheduler/log.hpp>

#include "server_state.hpp"

namespace weft::detail {

class ServerAcceptor final : public SimpleInboundHandler<ChannelRef> {
  public:
    explicit ServerAcceptor(std::shared_ptr<ServerState> server) noexcept : server_(std::move(server)) {}

    // E-7: the listener continues; its transport has paused it if descriptors are short.
    void exceptionCaught(ChannelHandlerContext&, std::exception_ptr cause) override {
        log(LogLevel::warning, "accepting on " + server_->localAddress.toString() + ": " + describe(cause));
    }

  protected:
    void channelRead0(ChannelHandlerContext&, ChannelRef child) override { server_->adopt(std::move(child)); }

  private:
    const std::shared_ptr<ServerState> server_;
};

}  // namespace weft::detail
