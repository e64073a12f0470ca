// ChildFiber: the handler of the connections of ServerBootstrap::childFiber(): runs a fiber for each.
#pragma once

#include <string>
#include <utility>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/scheduler/spawn_options.hpp>
#include <weft/scheduler/unique_function.hpp>
#include <weft/transports/tcp_stream.hpp>

namespace weft::detail {

class FiberSink;

// For channels whose sink is a FiberSink. The channel is closed once the fiber has ended and its stream is gone.
class ChildFiber final : public ChannelInboundHandler {
  public:
    static constexpr bool sharable = true;
    using Function = UniqueFunction<void(TcpStream)>;  // called on several loops at once

    ChildFiber(Function function, const SpawnOptions& options)
        : function_(std::move(function)), name_(options.name), options_(options) {
        options_.stealable = Stealable::never;  // the server may close the socket on its carrier meanwhile
    }

    void channelActive(ChannelHandlerContext& ctx) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;

  private:
    void start(ChannelHandlerContext& ctx);
    void run(FiberSink& sink);

    Function function_;
    const std::string name_;
    SpawnOptions options_;  // except the name
};

}  // namespace weft::detail
