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
    // A client: sends the first message. The channel is active.
    void begin();
    // The handshake has taken too long.
    void timeOut() noexcept;
    const SslEngine& engine() const noexcept { return engine_; }

    void onRead(Buffer&& bytes) noexcept override;
    void onEof() noexcept override;
    ErrorCode setOption(SocketOption option, int value) override;

  protected:
    std::size_t encode(std::string_view plain, ChannelOutput& encoded) override;
    void finish(ChannelOutput& encoded) noexcept override;

  private:
    void receive() noexcept;
    SslEngine::Step receiveOnce();
    void react(SslEngine::Step step) noexcept;
    void fail(const SystemError& error) noexcept;
    void sendAnswers();

    SslHandler* owner_;
    SslEngine engine_;
    bool hadInput_ = false;
    bool refused_ = false;  // encode() has taken nothing
    bool resets_ = false;   // a close discards what was not sent (linger 0), so it must not look complete
};

}  // namespace weft::detail
