// SslFiberStream: the stream of a TlsStream, between it and the socket's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/tls/ssl_engine.hpp>
#include <weft/transports/fiber_stream.hpp>

#include "context_lookup.hpp"
#include "fiber_turn.hpp"
#include "idle_buffers.hpp"
#include "io_turn.hpp"
#include "record_sender.hpp"

namespace weft::detail {

// Context and errors as for FiberStream. One fiber reads from the socket at a time: a reader, or one that shakes hands
// or waits for the rest of a key update, as a writer does.
class SslFiberStream final : public FiberStream, private BufferOwner {
  public:
    // Further arguments: those of SslEngine. `handshakeEnd`: ETIMEDOUT then.
    template <class... Arguments>
    SslFiberStream(std::unique_ptr<FiberStream> socket, Carrier& carrier, Deadline handshakeEnd,
                   Arguments&&... arguments)
        : carrier_(carrier),
          out_(std::make_shared<RecordSender>(std::move(socket))),
          engine_(std::forward<Arguments>(arguments)...),
          handshakeEnd_(handshakeEnd) {}
    ~SslFiberStream() override { close(); }

    ErrorCode handshake(Deadline deadline);
    const SslEngine& engine() const noexcept { return engine_; }

    ErrorCode connect(const SocketAddress& remote, Deadline deadline) override;
    std::size_t readSome(std::span<char> into, Deadline deadline, ErrorCode& error) override;
    Buffer readSome(std::size_t most, Deadline deadline, ErrorCode& error) override;
    std::size_t writeSome(std::span<const iovec> parts, Deadline deadline, ErrorCode& error) override;
    std::size_t tryReadSome(std::span<char> into, ErrorCode& error) noexcept override;
    std::size_t tryWriteSome(std::span<const iovec> parts, ErrorCode& error) noexcept override;
    ErrorCode shutdownOutput(Deadline deadline) override;
    void interruptReads() noexcept override { out_->socket().interruptReads(); }
    bool holdsInput() const noexcept override { return !plain_.empty() || !unfed_.empty() || engine_.holdsInput(); }
    void close() noexcept override;
    bool isOpen() const noexcept override { return out_->socket().isOpen(); }
    ErrorCode setOption(SocketOption option, int value) override { return out_->socket().setOption(option, value); }
    ErrorCode getOption(SocketOption option, int& value) const override {
        return out_->socket().getOption(option, value);
    }
    SocketAddress localAddress() const override { return out_->socket().localAddress(); }
    SocketAddress remoteAddress() const override { return out_->socket().remoteAddress(); }
    std::string_view errorText() const noexcept override;

  private:
    // Held by a call from its begin to its end; a second call of its kind gets EALREADY.
    class Claim;

    ErrorCode shakeHands(Deadline deadline);
    bool step(Deadline deadline, ErrorCode& error);
    bool hasStep() const noexcept { return isOpen() && (greets() || engine_.canShakeHands()); }
    bool greets() const noexcept { return !begun_ && !engine_.isServer(); }
    void makeStep();
    void lookUp();
    bool choose(Deadline deadline, ErrorCode& error);
    void touch() noexcept;
    ErrorCode awaitWritable(Deadline deadline);
    template <class Ready>
    ErrorCode receiveUntil(Ready ready, Deadline deadline);
    ErrorCode pump(Deadline deadline);
    void feed();
    bool fill(std::size_t most, Deadline deadline, ErrorCode& error);
    bool receive(std::size_t most, ErrorCode& error);
    bool receiveOnce(std::size_t most);
    std::size_t takePlain(std::span<char> into) noexcept;
    ErrorCode state() const noexcept;
    std::size_t sendParts(std::span<const iovec> parts, Deadline deadline, ErrorCode& error);
    void end() noexcept;
    bool closesByReset() const;
    void releaseBuffers() noexcept override { engine_.releaseBuffers(); }
    void dropInput() noexcept;
    std::size_t encode(std::span<const iovec> parts, std::size_t most) noexcept;

    Carrier& carrier_;
    const std::shared_ptr<RecordSender> out_;
    SslEngine engine_;
    const Deadline handshakeEnd_;
    Buffer plain_;  // received, and not read by the program
    Buffer unfed_;  // received when there was no memory to feed the engine
    IoTurn input_;  // of the fiber that reads from the socket
    FiberTurn turn_;
    std::shared_ptr<ContextLookup> lookup_;  // null: none runs
    bool begun_ = false;
    bool timedOut_ = false;  // the handshake has
    bool ended_ = false;     // by a close_notify
    bool reads_ = false;
    bool writes_ = false;
    bool outputEnded_ = false;
};

}  // namespace weft::detail
