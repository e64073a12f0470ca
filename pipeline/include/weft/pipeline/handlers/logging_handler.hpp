// LoggingHandler: logs every event and operation, and passes it on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/handler_types.hpp>
#include <weft/scheduler/log.hpp>

namespace weft {

// How a Buffer is logged; for any other message only the type is logged.
enum class LoggedBytes : unsigned char {
    count,  // the number of bytes
    text,   // also the first 128 bytes, with \xNN for a backslash and for what is not printable ASCII
};

// One line per event, through weft::log: "name: channel 7 (local -> remote) READ 12 bytes". Stateless: one object may
// be in many pipelines.
class LoggingHandler final : public ChannelDuplexHandler {
  public:
    static constexpr bool sharable = true;
    using InboundOut = Messages<>;
    static constexpr std::size_t shownBytes = 128;

    explicit LoggingHandler(LogLevel level = LogLevel::debug, LoggedBytes bytes = LoggedBytes::count,
                            std::string name = "LoggingHandler");

    void handlerAdded(ChannelHandlerContext& ctx) override;
    void handlerRemoved(ChannelHandlerContext& ctx) override;
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) override;
    void channelRegistered(ChannelHandlerContext& ctx) override;
    void channelUnregistered(ChannelHandlerContext& ctx) override;
    void channelActive(ChannelHandlerContext& ctx) override;
    void channelInactive(ChannelHandlerContext& ctx) override;
    void channelRead(ChannelHandlerContext& ctx, Message&& message) override;
    void channelReadComplete(ChannelHandlerContext& ctx) override;
    void userEventTriggered(ChannelHandlerContext& ctx, Message&& event) override;
    void channelWritabilityChanged(ChannelHandlerContext& ctx) override;
    void bind(ChannelHandlerContext& ctx, const SocketAddress& local, ChannelPromise promise) override;
    void connect(ChannelHandlerContext& ctx, const SocketAddress& remote, const SocketAddress* local,
                 ChannelPromise promise) override;
    void disconnect(ChannelHandlerContext& ctx, ChannelPromise promise) override;
    void close(ChannelHandlerContext& ctx, ChannelPromise promise) override;
    void deregister(ChannelHandlerContext& ctx, ChannelPromise promise) override;
    void read(ChannelHandlerContext& ctx) override;
    void write(ChannelHandlerContext& ctx, Message&& message, ChannelPromise promise) override;
    void flush(ChannelHandlerContext& ctx) override;

  private:
    void note(ChannelHandlerContext& ctx, std::string_view event, std::string_view details = {}) const;
    std::string show(const Message& message) const;

    const LogLevel level_;
    const LoggedBytes bytes_;
    const std::string name_;
};

}  // namespace weft
