// SslFilter: the filter of an SslHandler, between its channel and the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_filter.hpp>
#include <weft/tls/ssl_engine.hpp>

#include "handshake_turns.hpp"
#include "idle_buffers.hpp"

namespace weft {
class SslHandler;
}

namespace weft::detail {

class SslFilter final : public ChannelFilter, private HandshakePlace, private BufferOwner {
  public:
    // Arguments: those of SslEngine. `owner` gets the reports until forgetOwner().
    template <class... Arguments>
    explicit SslFilter(SslHandler& owner, Arguments&&... arguments)
        : owner_(&owner), engine_(std::forward<Arguments>(arguments)...) {}

    void forgetOwner() noexcept { owner_ = nullptr; }
    // The channel is active: reads, whether or not the channel does, and sends a client's first message.
    void begin();
    // The handshake has taken too long.
    void timeOut() noexcept;
    const SslEngine& engine() const noexcept { return engine_; }

    void onRead(Buffer&& bytes) noexcept override;
    void onEof() noexcept override;
    void wantRead(bool on) override;
    void shutdownOutput(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;
    void deregister(ChannelPromise promise) override;
    void registered() override;
    ErrorCode setOption(SocketOption option, int value) override;

  protected:
    std::size_t encode(std::string_view plain, ChannelOutput& encoded) override;
    void finish(ChannelOutput& encoded) noexcept override;

  private:
    // While the handshake waits for its turn or its context, so much is read of what the peer sends.
    static constexpr std::size_t mostUnread = 16 * 1024;
    static constexpr std::size_t mostUnreadBuffers = 16;  // a transport may read each byte into one

    bool isShakingHands() const noexcept { return begun_ && !engine_.handshakeDone() && !engine_.failed(); }
    bool greets() const noexcept { return begun_ && !greeted_ && !engine_.isServer(); }
    bool mayReceive() noexcept;
    bool goesOn(SslEngine::Step step) const noexcept;
    void updateRead();
    bool wantsMore() const noexcept;
    void receive() noexcept;
    void receiveLater();
    void receiveAll();
    SslEngine::Step receiveOnce();
    void react(SslEngine::Step step) noexcept;
    void fail(const SystemError& error) noexcept;
    void sendAnswers();
    void goOnWriting() noexcept;
    // The context that a client's name asks for.
    void lookUp() noexcept;
    void lookUpHere(const std::function<std::optional<SslContext>()>& call) noexcept;
    void goOn();
    void touch() noexcept {
        if (!used() && !deregistered_) [[unlikely]]
            join(channel().loop());
    }
    void refuse(const std::exception_ptr& cause) noexcept;
    void onTurn() noexcept override;
    void releaseBuffers() noexcept override { engine_.releaseBuffers(); }

    SslHandler* owner_;
    SslEngine engine_;
    bool begun_ = false;
    bool greeted_ = false;  // a client's first message has been written
    bool granted_ = false;  // one step of the handshake
    bool deregistered_ = false;
    bool hadInput_ = false;
    bool inputEnded_ = false;
    bool peerClosed_ = false;  // and it has been reported: a FIN follows a close_notify
    bool wantsRead_ = false;   // the channel does
    bool receiving_ = false;   // receive() runs, or a task that will call it has been submitted
    bool refused_ = false;     // encode() has taken nothing
    bool resets_ = false;      // a close discards what was not sent (linger 0), so it must not look complete
};

}  // namespace weft::detail
