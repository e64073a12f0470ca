#include <weft/pipeline/context_spawn.hpp>

#include <stdexcept>
#include <string>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include <weft/pipeline/detail/lost_writes.hpp>

namespace weft::detail {

namespace {

bool endWasRequested(const Channel& channel) noexcept {
    return thisFiber::cancelRequested() || channel.closed() || channel.loop().stopping();
}

}  // namespace

Carrier& carrierOf(ChannelHandlerContext& context, const char* call) {
    if (Carrier* const carrier = context.loop().carrier()) return *carrier;
    throw std::logic_error("ChannelHandlerContext::" + std::string(call) +
                           "(): an embedded loop has no carrier to run fibers");
}

void logSpawnedFiber(const ChannelHandlerContext& spawner, const std::exception_ptr& error) noexcept {
    const Channel& channel = spawner.channel();
    const bool expected = isEndOfConnection(error) && endWasRequested(channel);
    const LogLevel level = expected ? LogLevel::debug : LogLevel::error;
    try {
        log(level,
            {"fiber '", thisFiber::name(), "' of handler ", spawner.name(), " of ", channelName(channel),
             expected ? " ended because its connection ended: " : " ended with an exception: ", describe(error)});
    } catch (...) {
        log(level, "a fiber of a channel's handler ended with an exception");
    }
}

}  // namespace weft::detail
