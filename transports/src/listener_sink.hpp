// ListenerSink: the common part of all transports' channel sinks for listening sockets: options, channels for
// connections, and the pause of rule E-7. It must not know how connections are awaited.
#pragma once

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/transports/socket_io_handler.hpp>
#include <weft/transports/system_calls.hpp>

namespace weft {

// Context: the channel's carrier.
class ListenerSink : public ChannelSink {
  public:
    // How long accepting pauses when descriptors or memory have run out (E-7).
    static constexpr Duration shortagePause = std::chrono::milliseconds(500);

    bool listens() const noexcept override { return true; }
    void bind(const SocketAddress& local, ChannelPromise promise) override;
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override;
    void flush(ChannelOutput&) override {}
    void shutdownOutput(ChannelPromise promise) override;
    ErrorCode setOption(SocketOption option, int value) override;
    ErrorCode getOption(SocketOption option, int& value) const override;
    SocketAddress localAddress() const override;
    SocketAddress remoteAddress() const override { return {}; }

  protected:
    static constexpr unsigned acceptsPerCycle = 16;
    static constexpr unsigned mostWaiting = 65'536;  // limit on the connections accepted in one go before a close

    ListenerSink(SystemCalls& calls, Channel& channel, ChildLoopChooser chooser) noexcept;
    ~ListenerSink() override;

    // The listening socket, or -1 when closed.
    virtual int socket() const noexcept = 0;
    // The transport of the listener's own loop.
    virtual SocketIoHandler& sockets() const noexcept = 0;
    // bind() has succeeded; its promise has not been completed yet.
    virtual void onListening() = 0;
    // Accept again, if connections are wanted.
    virtual void onPauseEnded() = 0;

    // Sets the same socket defaults as Netty. Call it in your constructor, so that an option set before bind()
    // overrides them. Accepted sockets inherit TCP_NODELAY from the listener, which saves a system call per connection.
    void setDefaults(int socket) noexcept;
    int acceptNow() noexcept;
    // Makes a channel of the connection and passes it to the listener's channel. Throws std::bad_alloc.
    void deliver(Fd connection);
    // False: there is no pause, so accept again.
    bool pauseAccepting();
    void cancelPause() noexcept;

    Channel& channel() const noexcept { return channel_; }
    bool paused() const noexcept { return paused_; }
    bool listening() const noexcept { return listening_; }

  private:
    SystemCalls& socketCalls_;
    Channel& channel_;
    ChildLoopChooser chooser_;  // empty: connections use the listener's own loop
    int backlog_;
    ScheduledTask resume_;
    bool listening_ = false;
    bool paused_ = false;
};

}  // namespace weft
