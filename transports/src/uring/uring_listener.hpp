// UringListener: the ChannelSink of a listening socket on io_uring.
#pragma once

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "listener_sink.hpp"
#include "uring/uring_handle.hpp"

namespace weft {

class UringListener final : public UringHandle, public ListenerSink {
  public:
    UringListener(UringIoHandler& handler, Fd fd, Channel& channel, ChildLoopChooser chooser) noexcept;

    void registered() override;
    void wantRead(bool on) override;
    void acceptWaiting() override;
    void deregister(ChannelPromise promise) override;
    void close(ChannelPromise promise) override;

  protected:
    void dispatch() override;
    void abort() noexcept override;
    int socket() const noexcept override { return isOpen() ? fd() : -1; }
    SocketIoHandler& sockets() const noexcept override { return handler(); }
    void boundAndListening() override { adjust(); }
    void pauseEnded() override { adjust(); }

  private:
    struct Accept : UringOperation {
        explicit Accept(UringListener& its) noexcept : UringOperation(kind, its.inFlight()), listener(its) {}
        static const Kind kind;
        UringListener& listener;
    };
    enum class Leaving : unsigned char { no, deregistering, closing };

    bool leaving() const noexcept { return leaving_ != Leaving::no; }
    void completed(int result);
    void noteError(int error) noexcept;
    void adjust();
    bool keep(int connection) noexcept;
    bool deliverWaiting();
    void leave(Leaving how, ChannelPromise promise);
    void closeSocket() noexcept;
    void operationEnded();

    Accept accept_;
    detail::Ring<Fd> accepted_;
    ErrorCode acceptError_;  // to be reported to the channel
    ChannelPromise left_;
    Leaving leaving_ = Leaving::no;
    bool wantsRead_ = false;
};

}  // namespace weft
