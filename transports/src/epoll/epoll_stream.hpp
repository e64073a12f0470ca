// EpollStream: the ChannelSink of a connected socket on edge-triggered epoll. It turns edges into what the channel's
// contract promises (levels, cycles, one readComplete per batch). It must never know what the bytes mean.
#pragma once

#include <cstdint>
#include <string_view>

#include <weft/transports/epoll/epoll_handle.hpp>

#include "stream_sink.hpp"

namespace weft {

class EpollStream : public StreamSink<EpollHandle> {
  public:
    EpollStream(EpollIoHandler& handler, Fd fd, Channel& channel) noexcept
        : EpollStream(handler, EpollHandleKind::stream, std::move(fd), channel) {}
    ~EpollStream() override = default;

    void wantRead(bool on) override;
    void flush(ChannelOutput& output) override;
    void shutdownOutput(ChannelPromise promise) override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;

    // Handles one dispatch: the events since the last one, or 0 for a continuation requested by requeue().
    void onEvents(std::uint32_t events);

  protected:
    EpollStream(EpollIoHandler& handler, EpollHandleKind kind, Fd fd, Channel& channel) noexcept
        : StreamSink(channel, handler, kind, std::move(fd)) {}

    void closeSocket() noexcept {
        set(outputFailed);
        closeHandle();
    }

  private:
    enum class ReadStep : unsigned char { next, pause, ended, failed, done };

    // One word, so that an event or a write tests all its conditions at once.
    using Flags = std::uint32_t;
    static constexpr Flags wantsRead = 1 << 0;
    static constexpr Flags readable = 1 << 1;       // the kernel may have bytes: an edge has arrived and is not used up
    static constexpr Flags neverEmptied = 1 << 2;   // PRI, RDHUP, HUP or ERR: more may follow a short read
    static constexpr Flags inputFailed = 1 << 3;    // a read error was reported: never read again
    static constexpr Flags kernelFull = 1 << 4;     // EAGAIN: wait for the output edge
    static constexpr Flags writeQueued = 1 << 5;    // the rest of a flush waits for the next poll (fairness, W-5)
    static constexpr Flags outputFailed = 1 << 6;   // never write again: after an error, or closed
    static constexpr Flags writeErrorDue = 1 << 7;  // the channel has not been told of the write error
    static constexpr Flags inputEnded = 1 << 8;     // the channel has been told of the peer's end
    static constexpr Flags hungUp = 1 << 9;         // HUP or ERR: both directions have ended, orderly or by an error

    bool has(Flags any) const noexcept { return (flags_ & any) != 0; }
    bool hasAll(Flags flags) const noexcept { return (flags_ & flags) == flags; }
    void set(Flags flags) noexcept { flags_ |= flags; }
    void clear(Flags flags) noexcept { flags_ &= ~flags; }
    bool mayWrite() const noexcept { return !has(kernelFull | writeQueued | outputFailed); }

    void onOtherEvents(std::uint32_t events);
    void continueWriting();
    void continueReading();
    ssize_t receive(Buffer& into) noexcept;
    void readSlow(Buffer& buffer, ssize_t count);
    ReadStep take(Buffer& buffer, ssize_t count, bool& delivered);
    void finishReading(ReadStep how, bool delivered);
    void failReading(const ErrorCode& error);
    void failAfterEnd();
    bool sendOnce(ChannelOutput& output);
    void sendMore(ChannelOutput& output);
    ssize_t send(std::string_view bytes);
    ssize_t sendPieces(const ChannelOutput& output);
    void refused(ssize_t result) noexcept;
    void failWriting(int error) noexcept;
    void reportWriteError();

    Flags flags_ = 0;
    std::int16_t readError_ = 0;  // values of errno
    std::int16_t writeError_ = 0;
};

}  // namespace weft
