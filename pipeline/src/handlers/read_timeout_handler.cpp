#include <weft/pipeline/handlers/read_timeout_handler.hpp>

#include <utility>

#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/handlers/timeout_errors.hpp>

#include "argument_checks.hpp"

namespace weft {

ReadTimeoutHandler::ReadTimeoutHandler(Duration timeout)
    : IdleStateHandler({.reader = detail::checkedPeriod("ReadTimeoutHandler: timeout", timeout)}) {}

void ReadTimeoutHandler::channelIdle(ChannelHandlerContext& ctx, IdleStateEvent) {
    if (std::exchange(closing_, true)) return;
    ctx.fireExceptionCaught(std::make_exception_ptr(ReadTimeoutException()));
    ctx.close();
}

}  // namespace weft
