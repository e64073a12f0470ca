// ConnectorSink: a stream's sink while its socket is fresh and connects; once connected, the same object is the stream.
#pragma once

#include <cerrno>
#include <exception>
#include <utility>

#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/transports/tcp_socket.hpp>

#include "socket_errors.hpp"

namespace weft {

// Stream: the sink of the connected socket. A transport provides begin() and calls ended(). Context: the channel's
// carrier.
template <class Stream>
class ConnectorSink : public Stream {
  public:
    using Stream::Stream;

    void bind(const SocketAddress& local, ChannelPromise promise) override {
        const int result = this->isOpen() ? this->calls().bind(this->fd(), local.data(), local.size()) : -ECANCELED;
        if (result < 0) {
            promise.tryFailure(detail::bindError(fromErrno(-result), local));
        } else {
            promise.trySuccess();
        }
    }
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) override {
        if (inProgress_ || !mayConnect()) {
            promise.tryFailure(detail::connectError(inProgress_ ? fromErrno(EALREADY) : operationAborted(), remote));
            return;
        }
        remote_ = remote;
        promise_ = std::move(promise);
        inProgress_ = true;
        const int bound = local ? this->calls().bind(this->fd(), local->data(), local->size()) : 0;
        if (bound < 0) return fail(detail::bindError(fromErrno(-bound), *local));
        begin();
    }
    void close(ChannelPromise promise) override {
        if (inProgress_) fail(std::make_exception_ptr(ClosedChannelException()));
        Stream::close(std::move(promise));
    }

  protected:
    virtual bool mayConnect() const noexcept { return this->isOpen(); }
    // Starts to connect to remote().
    virtual void begin() = 0;
    // The socket is connected; called before the promise succeeds.
    virtual void becomeStream() noexcept {}

    // The attempt has ended. Precondition: inProgress(). May call anything. True: the socket is connected.
    bool ended(ErrorCode error) {
        // A socket that has connected to itself: nothing listens on that port, and a connect from any other port of
        // this host would have been refused, so this one is, too (docs/adr/0011-self-connect.md).
        if (!error && detail::resetIfConnectedToItself(this->calls(), this->fd(), remote_))
            error = fromErrno(ECONNREFUSED);
        if (error) {
            fail(detail::connectError(error, remote_));
            return false;
        }
        inProgress_ = false;
        becomeStream();
        std::exchange(promise_, {}).trySuccess();
        return true;
    }
    bool inProgress() const noexcept { return inProgress_; }
    const SocketAddress& remote() const noexcept { return remote_; }

  private:
    void fail(std::exception_ptr cause) {
        inProgress_ = false;
        std::exchange(promise_, {}).tryFailure(std::move(cause));
    }

    ChannelPromise promise_;
    SocketAddress remote_;
    bool inProgress_ = false;
};

}  // namespace weft
