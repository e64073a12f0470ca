// UringStream: the ChannelSink of a connected socket on io_uring. A receive runs for as long as the channel wants its
// bytes; those that arrive before it has ended are kept. It must never know what the bytes mean.
#pragma once

#include <cstdint>
#include <memory>

#include <sys/types.h>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/ring.hpp>

#include "stream_sink.hpp"
#include "uring/uring_departing_handle.hpp"

namespace weft {

class UringBuffers;
class UringSendParts;

class UringStream : public StreamSink<UringDepartingHandle> {
  public:
    UringStream(UringIoHandler& handler, Fd fd, Channel& channel) noexcept;
    ~UringStream() override;

    void wantRead(bool on) override;
    void flush(ChannelOutput& output) override;
    void outputMoved(ChannelOutput& output) override { bytes_ = &output; }
    void shutdownOutput(ChannelPromise promise) override;
    void deregister(ChannelPromise promise) override { leaveByDeregistering(std::move(promise)); }
    void close(ChannelPromise promise) override { leaveByClosing(std::move(promise)); }
    std::size_t maxReadBytes() const override;

  protected:
    void dispatch() override;
    void abort() noexcept override { closeChannel(); }
    void cancelAll() noexcept override;
    void lastCalls() override { sendRemaining(); }

  private:
    struct Operation : UringOperation {
        Operation(const Kind& kind, UringStream& owner) noexcept
            : UringOperation(kind, owner.inFlight()), stream(owner) {}
        UringStream& stream;
    };
    static const UringOperation::Kind inputKind, outputKind, hangUpKind;

    using Flags = std::uint32_t;
    static constexpr Flags wantsRead = 1 << 0;
    static constexpr Flags inputEnded = 1 << 1;     // by the peer's end or an error: never receive again
    static constexpr Flags endDue = 1 << 2;         // the channel has not been told of that end or error
    static constexpr Flags inputFailed = 1 << 3;    // an error was reported to the channel: never read again
    static constexpr Flags outputFailed = 1 << 4;   // never write again
    static constexpr Flags writeErrorDue = 1 << 5;  // the channel has not been told of the write error
    static constexpr Flags outOfBuffers = 1 << 6;   // the last receive found no buffer

    bool has(Flags any) const noexcept { return (flags_ & any) != 0; }
    void set(Flags flags) noexcept { flags_ |= flags; }
    void clear(Flags flags) noexcept { flags_ &= ~flags; }

    void onInput(int result, unsigned flags);
    void onPiece(Buffer&& piece, unsigned flags);
    void noteInputEnd(int error) noexcept;
    void afterInput();
    bool mayReceive() const noexcept;
    void startInput() noexcept;
    bool largeReads() const noexcept;
    UringBuffers& buffers() const noexcept;
    void readCycle();
    void reportEnd();
    void failReading(const ErrorCode& error);

    void startOutput();
    void onOutput(int result);
    bool maySend() const noexcept;
    void failWriting(int error) noexcept;
    void reportWriteError();
    void sendRemaining();
    void finishShutdown();
    void onHangUp(int events);
    void checkForReset();

    Flags flags_ = 0;
    bool large_ = false;   // the current receive takes large buffers
    bool hungUp_ = false;  // the peer has reset, or both directions have ended
    Operation input_;
    Operation output_;
    Operation hangUp_;
    detail::Ring<Buffer> arrived_;
    ErrorCode readError_;
    ErrorCode writeError_;
    ChannelOutput* bytes_ = nullptr;         // owned by the channel
    std::string_view run_;                   // the send in flight, unless it has parts; pinned in bytes_
    std::unique_ptr<UringSendParts> parts_;  // null: it has none
    std::uint64_t flushed_ = 0;              // its flushed position at the channel's last flush
    ChannelPromise shutDown_;
    bool shuttingDown_ = false;  // shut down once the send in flight has ended
};

}  // namespace weft
