// IpFilterHandler: closes connections whose peer's address is not wanted, before the handlers behind it see them.
#pragma once

#include <vector>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/handlers/ip_filter_rule.hpp>

namespace weft {

// The first rule that matches decides, `otherwise` when none does; a peer without an IP address is rejected. Decides
// when it is added to a registered channel or its channel is registered, and for a channel that has yet to connect when
// it is active; then it leaves the pipeline. A rejected connection is closed, an info line says so, and handlers behind
// that have not seen it active never do. Stateless: one object may serve all connections.
class IpFilterHandler final : public ChannelInboundHandler {
  public:
    static constexpr bool sharable = true;
    using InboundOut = Messages<>;

    explicit IpFilterHandler(std::vector<IpFilterRule> rules, IpFilterAction otherwise = IpFilterAction::accept);

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void channelActive(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;

    // What the rules say of this address.
    IpFilterAction decide(const SocketAddress& peer) const noexcept;

  private:
    bool admits(ChannelHandlerContext& ctx) const;

    const std::vector<IpFilterRule> rules_;
    const IpFilterAction otherwise_;
};

}  // namespace weft
