// ChannelFilter: changes the bytes between a channel and its transport, as TLS does. It takes the place of the
// channel's sink, and receives the sink's up-calls in the channel's place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/channel_sink.hpp>

namespace weft {

class Channel;

// "Plain" bytes are those of the channel, "encoded" ones those of the transport. Filters nest: each takes the bytes of
// the one that was added after it as plain ones. Channel::addFilter() adds one; it lives as long as the channel.
// What has been encoded and not sent counts in the channel's pendingBytes(); a promise completes once the encoded bytes
// of its write have been sent. Context: the channel's loop.
class ChannelFilter : public ChannelSink {
  public:
    // Encoded bytes that wait for the transport at most, before encode() is called again. They are what a close sends
    // at least, if the transport takes them.
    static constexpr std::size_t mostEncoded = 256 * 1024;

    ~ChannelFilter() override;
    ChannelFilter(const ChannelFilter&) = delete;
    ChannelFilter& operator=(const ChannelFilter&) = delete;

    // ---- up-calls from below; Channel has their contracts ----
    // Calls deliver() with what the bytes become.
    virtual void onRead(Buffer&& bytes) noexcept = 0;
    // Ends the read cycle above, if it has had bytes.
    virtual void onReadComplete() noexcept;
    virtual void onEof() noexcept { endInput(); }
    virtual void onError(ErrorCode error) noexcept { failInput(error); }
    virtual void onWriteError(ErrorCode error) noexcept { failOutput(error); }

    // ---- ChannelSink ----
    void registered() override;
    bool listens() const noexcept override { return false; }
    void bind(const SocketAddress& local, ChannelPromise promise) override { below_->bind(local, std::move(promise)); }
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override {
        below_->connect(remote, local, std::move(promise));
    }
    void wantRead(bool on) override { below_->wantRead(on); }
    void flush(ChannelOutput& plain) override;
    void outputMoved(ChannelOutput&) override {}  // looks for the plain bytes where they are
    void shutdownOutput(ChannelPromise promise) override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;
    ErrorCode setOption(SocketOption option, int value) override { return below_->setOption(option, value); }
    ErrorCode getOption(SocketOption option, int& value) const override { return below_->getOption(option, value); }
    SocketAddress localAddress() const override { return below_->localAddress(); }
    SocketAddress remoteAddress() const override { return below_->remoteAddress(); }
    std::size_t maxReadBytes() const override { return below_->maxReadBytes(); }

  protected:
    ChannelFilter() = default;

    // Appends to `encoded` what the first bytes of `plain`, which is not empty, become. Returns how many of them; 0: it
    // takes none before resumeOutput() is called, or it has called failEncoding(). What it throws fails the output with
    // ENOMEM.
    virtual std::size_t encode(std::string_view plain, ChannelOutput& encoded) = 0;
    // The output ends, by a close or a shutdown of the output, after all that has been encoded: appends what belongs
    // behind it. Must not throw.
    virtual void finish(ChannelOutput& encoded) noexcept { static_cast<void>(encoded); }

    // ---- for the derived class ----
    Channel& channel() const noexcept { return *channel_; }
    ChannelSink& below() const noexcept { return *below_; }
    // Bytes that are no answer to encode(), such as those of a handshake; then call sendEncoded().
    ChannelOutput& encoded() noexcept { return encoded_; }
    // Sends them at the next flush point.
    void sendEncoded();
    // encode() takes bytes again.
    void resumeOutput() noexcept;
    // From encode(): the output fails once the channel's flush is over.
    void failEncoding(ErrorCode error) noexcept { outputError_ = error; }
    // Up-calls to the channel or to the filter above. A handler may close the channel in any of them.
    void deliver(Buffer&& plain) noexcept;
    void endInput() noexcept;
    void failInput(ErrorCode error) noexcept { failInput(error, std::make_exception_ptr(SystemError(error))); }
    // `cause`: what the channel's handlers get, and what its writes fail with.
    void failInput(ErrorCode error, const std::exception_ptr& cause) noexcept;
    void failOutput(ErrorCode error) noexcept;

  private:
    friend class Channel;

    ChannelOutput& plain() const noexcept;
    ChannelFilter& lowest() noexcept;
    // True if it is the only filter, and nothing waits in it.
    bool isIdle() const noexcept {
        return filterBelow_ == nullptr && encoded_.isPlain() && encoded_.pendingBytes() == 0 && counted_ == 0 &&
               !outputError_;
    }
    bool encodeRun(ChannelOutput& plain);
    void flushBelow();
    // Bytes of this filter, or of one below, have been flushed, and what is below has not been given them.
    bool hasUngiven() const noexcept {
        return (encoded_.flushedBytes() > 0 && encoded_.flushedPosition() > given_) ||
               (filterBelow_ != nullptr && filterBelow_->hasUngiven());
    }
    bool encodeFlushed(ChannelOutput& plain, std::size_t most);
    void encodeRest();
    void share();
    // Of this filter and those below.
    std::size_t pendingBytes() const noexcept;
    void leaveBlock() noexcept;
    void failAll(const std::exception_ptr& cause);
    ErrorCode takeOutputError() noexcept { return std::exchange(outputError_, {}); }

    Channel* channel_ = nullptr;  // null: not added yet
    std::unique_ptr<ChannelSink> below_;
    ChannelFilter* filterBelow_ = nullptr;  // below_, if it is a filter
    ChannelFilter* above_ = nullptr;        // null: the channel itself
    ChannelOutput encoded_;
    ErrorCode outputError_;    // of encode(); the channel has not been told
    std::uint64_t given_ = 0;  // the end of the bytes of encoded_ that what is below has been given
    std::size_t counted_ = 0;  // of the highest filter: what the channel counts as pending
    bool delivered_ = false;   // in the running read cycle
};

}  // namespace weft
