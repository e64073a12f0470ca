// EpollStream: the ChannelSink of a connected socket on edge-triggered epoll. It turns edges into what the channel's
// contract promises (levels, cycles, one readComplete per batch). It must never know what the bytes mean.
#pragma once

#include <weft/pipeline/channel_sink.hpp>
#include <weft/transports/epoll/epoll_handle.hpp>

namespace weft {

class EpollStream : public EpollHandle, public ChannelSink {
  public:
    EpollStream(EpollIoHandler& handler, Fd fd, Channel& channel) noexcept
        : EpollStream(handler, EpollHandleKind::stream, std::move(fd), channel) {}
    ~EpollStream() override = default;

    void registered() override;
    void bind(const SocketAddress& local, ChannelPromise promise) override;
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override;
    void wantRead(bool on) override;
    void flush(OutboundBuffer& outbound) override;
    std::size_t writeStraight(std::string_view bytes) override;
    bool writesStraight() const noexcept override { return true; }
    void shutdownOutput(ChannelPromise promise) override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;
    ErrorCode setOption(SocketOption option, int value) override;
    ErrorCode getOption(SocketOption option, int& value) const override;
    SocketAddress localAddress() const override;
    SocketAddress remoteAddress() const override;

    // One dispatch: what the kernel reported since the last one, or none for a continuation that was asked for.
    void onEvents(std::uint32_t events);
    // The poller is shutting down.
    void closeChannel() noexcept;

  protected:
    EpollStream(EpollIoHandler& handler, EpollHandleKind kind, Fd fd, Channel& channel) noexcept;

    Channel& channel() const noexcept { return channel_; }

  private:
    enum class ReadStep : unsigned char { next, pause, ended, failed, done };

    void continueWriting();
    void continueReading();
    ReadStep readOnce(bool& delivered);
    void finishReading(ReadStep how, bool delivered);
    void failReading(const ErrorCode& error);
    bool writeOnce(OutboundBuffer& outbound);
    ssize_t sendPieces(const OutboundBuffer& outbound);
    void noteRefusal(ssize_t result) noexcept;
    void failWriting(int error) noexcept;
    bool mayWrite() const noexcept { return isOpen() && !kernelFull_ && !outputFailed_ && !writeQueued_; }

    Channel& channel_;
    bool wantsRead_ = false;
    bool readable_ = false;       // the kernel may have something to read: an edge has come and was not used up
    bool peerEnded_ = false;      // RDHUP, HUP or ERR: a short read does not mean that nothing follows
    bool inputFailed_ = false;    // a read error has been reported: never read again
    bool kernelFull_ = false;     // EAGAIN: wait for the output edge
    bool writeQueued_ = false;    // the rest of a flush waits for the next poll (W-5)
    bool outputFailed_ = false;   // nothing is written any more
    bool writeErrorDue_ = false;  // the channel has not been told of it
    ErrorCode readError_;
    ErrorCode writeError_;
};

}  // namespace weft
