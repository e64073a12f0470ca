#include <weft/pipeline/handlers/ip_filter_handler.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

IpFilterHandler::IpFilterHandler(std::vector<IpFilterRule> rules, IpFilterAction otherwise)
    : rules_(std::move(rules)), otherwise_(otherwise) {}

IpFilterAction IpFilterHandler::decide(const SocketAddress& peer) const noexcept {
    if (peer.empty()) return IpFilterAction::reject;
    for (const IpFilterRule& rule : rules_) {
        if (rule.matches(peer)) return rule.action();
    }
    return otherwise_;
}

// Also called during the registration of the channel, before any handler has seen it active.
void IpFilterHandler::handlerAdded(ChannelHandlerContext& ctx) {
    if (!ctx.channel().registered()) return;
    if (!ctx.channel().active() && ctx.channel().remoteAddress().empty()) return;  // not connected yet
    if (!admits(ctx)) ctx.close();
    ctx.pipeline().remove(*this);
}

void IpFilterHandler::channelActive(ChannelHandlerContext& ctx) {
    if (!admits(ctx)) {
        ctx.close();
        return;
    }
    ctx.pipeline().remove(*this);
    ctx.fireChannelActive();
}

// This handler is still in the pipeline, so the handlers after it have not seen channelActive either.
void IpFilterHandler::channelInactive(ChannelHandlerContext&) {}

bool IpFilterHandler::admits(ChannelHandlerContext& ctx) const {
    const SocketAddress peer = ctx.channel().remoteAddress();
    if (decide(peer) == IpFilterAction::accept) return true;
    log(LogLevel::info, "connection from " + peer.toString() + " rejected by " + ctx.name());
    return false;
}

}  // namespace weft
