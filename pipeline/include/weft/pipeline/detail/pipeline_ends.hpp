// The two ends of a pipeline: the head passes operations to the channel, the tail takes what no handler took.
#pragma once

#include <exception>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>

namespace weft::detail {

// Receives what reaches the tail, which is then not logged; for EmbeddedChannel.
class TailObserver {
  public:
    virtual void unhandledMessage(Message&& message) = 0;
    virtual void unhandledException(std::exception_ptr cause) = 0;

  protected:
    ~TailObserver() = default;
};

class HeadHandler final : public ChannelHandler {
  public:
    explicit HeadHandler(Channel& channel) noexcept : channel_(channel) {}
    void bind(ChannelHandlerContext&, const SocketAddress& local, ChannelPromise promise) override;
    void connect(ChannelHandlerContext&, const SocketAddress& remote, const SocketAddress* local,
                 ChannelPromise promise) override;
    void disconnect(ChannelHandlerContext&, ChannelPromise promise) override;
    void close(ChannelHandlerContext&, ChannelPromise promise) override;
    void deregister(ChannelHandlerContext&, ChannelPromise promise) override;
    void read(ChannelHandlerContext&) override;
    void write(ChannelHandlerContext&, Message&& message, ChannelPromise promise) override;
    void flush(ChannelHandlerContext&) override;

    // Closes the channel after an error on this side.
    void closeAfterError(std::exception_ptr cause) noexcept;

  private:
    Channel& channel_;
};

// Releases what no handler took, and logs it (P-4).
class TailHandler final : public ChannelHandler {
  public:
    void exceptionCaught(ChannelHandlerContext& ctx, std::exception_ptr cause) noexcept override;
    void channelRegistered(ChannelHandlerContext&) override {}
    void channelUnregistered(ChannelHandlerContext&) override {}
    void channelActive(ChannelHandlerContext&) override {}
    void channelInactive(ChannelHandlerContext&) override {}
    void channelRead(ChannelHandlerContext& ctx, Message&& message) noexcept override;
    void channelReadComplete(ChannelHandlerContext&) override {}
    void userEventTriggered(ChannelHandlerContext&, Message&& event) noexcept override;
    void channelWritabilityChanged(ChannelHandlerContext&) override {}
};

inline constexpr HandlerType headType{"head", {}, {}};
inline constexpr HandlerType tailType{"tail", {}, {}};

// Neither end can be removed; both are parts of the pipeline.
class EndContext final : public ChannelHandlerContext {
  public:
    EndContext(Channel& channel, EventMask mask, const HandlerType& type, ChannelHandler& handler)
        : ChannelHandlerContext(channel, mask, type) {
        setHandler(handler);
    }
};

}  // namespace weft::detail
