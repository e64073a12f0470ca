// ChannelSink (door 2): the interface of a transport to its channel. The pipeline declares it and knows no descriptor;
// transports implement it and make their up-calls on Channel.
#pragma once

#include <cstddef>

#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/pipeline/socket_option.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft {

// Context: the channel's loop, for every call. No function may call back into the channel synchronously, unless stated
// below; completing a promise that was passed in does not count as a call back.
struct ChannelSink {
    // Releases the descriptor if close() never ran.
    virtual ~ChannelSink() = default;

    // The channel has been registered with its loop: attach to the poller. Throws SystemError when that fails.
    virtual void registered() = 0;
    // True for a listener: a successful bind() makes the channel active, and an accept error does not close it (E-7).
    // False for a stream: bind() only sets its local address, and connect() makes the channel active.
    virtual bool listens() const noexcept { return false; }
    // Completes the promise at once or later.
    virtual void bind(const SocketAddress& local, ChannelPromise promise) = 0;
    // Completes the promise when connected; the channel then fires channelActive itself. `local` may be null.
    virtual void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) = 0;
    // Switches reading on or off until the next call. While it is on, each poll batch with input makes one or more
    // calls of onRead and then one of onReadComplete.
    virtual void wantRead(bool on) = 0;
    // Listeners: deliver the connections that the kernel has already established, as while reading is on, because a
    // close would reset them. Streams do nothing.
    virtual void acceptWaiting() {}
    // Writes as much as the kernel takes of the flushed bytes, 1 or more, and reports it with Channel::onWritten(n), in
    // this call or later. When the socket is full, the sink calls Channel::onWritable() once it takes bytes again, not
    // in this call.
    virtual void flush(ChannelOutput& output) = 0;
    // What flush() was given is in `output` now, with the same positions: a filter was added.
    virtual void outputMoved(ChannelOutput& output) { static_cast<void>(output); }
    // Once the promise has succeeded, the sink sends and reports nothing more. If it fails, the sink goes on.
    virtual void shutdownOutput(ChannelPromise promise) = 0;
    // Detaches from the poller without closing.
    virtual void deregister(ChannelPromise promise) = 0;
    // Closes the descriptor and completes the promise when it is closed. No up-call may follow.
    virtual void close(ChannelPromise promise) = 0;

    virtual ErrorCode setOption(SocketOption option, int value) = 0;
    virtual ErrorCode getOption(SocketOption option, int& value) const = 0;
    virtual SocketAddress localAddress() const = 0;
    virtual SocketAddress remoteAddress() const = 0;
    // The largest useful read buffer of this transport, in bytes; bounds Channel::readBufferSize().
    virtual std::size_t maxReadBytes() const { return 64 * 1024; }
    // True for a transport that moves whole messages (embedded, in-process): flush() then takes them one by one with
    // ChannelOutput::takeMessage(), and they are never joined. False: only Buffers may reach the head of the pipeline.
    virtual bool takesMessages() const noexcept { return false; }
};

}  // namespace weft
