// ChannelSink (door 2): what a channel asks of its transport. The pipeline declares it and knows no descriptor;
// transports implement it. Up-calls go straight to Channel.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/outbound_buffer.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

// Context: the channel's loop, for every call. None may call back into the channel synchronously, except where said;
// completing a promise that was handed in is no call back.
struct ChannelSink {
    // Releases the descriptor if close() never ran.
    virtual ~ChannelSink() = default;

    // The channel has been registered with its loop: attach to the poller. Throws SystemError when that fails.
    virtual void registered() = 0;
    // True for a listener: a successful bind() makes its channel active, and no error of accepting closes it (E-7).
    // False for a stream, which bind() only gives its local address: connect() makes it active.
    virtual bool listens() const noexcept { return false; }
    // Completes the promise at once or later.
    virtual void bind(const SocketAddress& local, ChannelPromise promise) = 0;
    // Completes the promise when connected; the channel fires active itself after it. `local` may be null.
    virtual void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) = 0;
    // Level: on until told off. While on: onRead... and then one onReadComplete per poll batch.
    virtual void wantRead(bool on) = 0;
    // A listener: delivers the connections that the kernel has made already, as for a read that is wanted; a close
    // would reset them. Others do nothing.
    virtual void acceptWaiting() {}
    // Writes as much as the kernel takes and reports it by Channel::onWritten(n), which is called synchronously. When
    // the kernel is full the sink remembers that, and calls Channel::onWritable() once it is not.
    virtual void flush(OutboundBuffer& outbound) = 0;
    // A short cut past the outbound buffer, asked for only while that is empty: returns how many of the bytes the sink
    // has taken: those that the kernel took at once, or all, which it then sends before everything else (sendsLater()). What it has not
    // taken comes again by flush(), also when the reason was an error. The bytes lie in the block of `storage`: a sink
    // that has not sent them when it returns keeps a share of it.
    virtual std::size_t writeStraight(std::string_view bytes, const Buffer& storage);
    // False: writeStraight() takes nothing, and callers need not gather bytes for it.
    virtual bool writesStraight() const noexcept { return false; }
    // True: what writeStraight() has taken is reported by Channel::onWritten() when it has been sent, before all else.
    virtual bool sendsLater() const noexcept { return false; }
    virtual void shutdownOutput(ChannelPromise promise) = 0;
    // Detaches from the poller without closing.
    virtual void deregister(ChannelPromise promise) = 0;
    // Closes the descriptor and completes the promise when it is closed; no up-call after that.
    virtual void close(ChannelPromise promise) = 0;

    virtual ErrorCode setOption(SocketOption option, int value) = 0;
    virtual ErrorCode getOption(SocketOption option, int& value) const = 0;
    virtual SocketAddress localAddress() const = 0;
    virtual SocketAddress remoteAddress() const = 0;
    // The most bytes that one read of this transport can use; bounds Channel::readBufferSize().
    virtual std::size_t maxReadBytes() const { return 64 * 1024; }
    // True for a transport that moves whole messages (embedded, in-process): entries are then taken one by one with
    // OutboundBuffer::takeMessage() and never joined. False: only Buffers may reach the head of the pipeline.
    virtual bool takesMessages() const noexcept { return false; }
};

}  // namespace weft
