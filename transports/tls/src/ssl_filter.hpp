// SslFilter: the filter of an SslHandler, between its channel and the transport.
#pragma once

#include <string_view>

#include <weft/pipeline/channel_filter.hpp>
#include <weft/tls/ssl_engine.hpp>

namespace weft {
class SslHandler;
}

namespace weft::detail {

class SslFilter final : public ChannelFilter {
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
    ErrorCode setOption(SocketOption option, int value) override;

  protected:
    std::size_t encode(std::string_view plain, ChannelOutput& encoded) override;
    void finish(ChannelOutput& encoded) noexcept override;

  private:
    bool isShakingHands() const noexcept { return begun_ && !engine_.handshakeDone() && !engine_.failed(); }
    bool mayReceive() const noexcept;
    void receive() noexcept;
    void receiveLater();
    void receiveAll();
    SslEngine::Step receiveOnce();
    void react(SslEngine::Step step) noexcept;
    void fail(const SystemError& error) noexcept;
    void sendAnswers();

    SslHandler* owner_;
    SslEngine engine_;
    bool begun_ = false;
    bool hadInput_ = false;
    bool peerClosed_ = false;  // and it has been reported: a FIN follows a close_notify
    bool wantsRead_ = false;   // the channel does
    bool receiving_ = false;   // receive() runs, or a task that will call it has been submitted
    bool refused_ = false;     // encode() has taken nothing
    bool resets_ = false;      // a close discards what was not sent (linger 0), so it must not look complete
};

}  // namespace weft::detail
