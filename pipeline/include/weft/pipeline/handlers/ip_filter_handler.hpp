// IpFilterHandler: closes connections from peers whose address is rejected, before the handlers after it see them.
#pragma once

#include <vector>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/pipeline/handlers/ip_filter_rule.hpp>

namespace weft {

// The first rule that matches decides; `otherwise` applies when none does. A peer without an IP address is rejected.
// The handler decides when its channel is registered or, added later, at once; for a channel that is not connected yet,
// when it becomes active. It then removes itself. A rejected connection is closed and logged at level info; handlers
// after this one that have not seen it active never do. Stateless: one object may serve all connections.
class IpFilterHandler final : public ChannelInboundHandler {
  public:
    static constexpr bool sharable = true;
    using InboundOut = Messages<>;

    explicit IpFilterHandler(std::vector<IpFilterRule> rules, IpFilterAction otherwise = IpFilterAction::accept);

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void channelActive(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;

    // Applies the rules to this address.
    IpFilterAction decide(const SocketAddress& peer) const noexcept;

  private:
    bool admits(ChannelHandlerContext& ctx) const;

    const std::vector<IpFilterRule> rules_;
    const IpFilterAction otherwise_;
};

}  // namespace weft
