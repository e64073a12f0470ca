// UringListener: the ChannelSink of a listening socket on io_uring.
#pragma once

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/ring.hpp>
#include <weft/transports/uring/uring_io_handler.hpp>

#include "listener_sink.hpp"
#include "uring/uring_departing_handle.hpp"

namespace weft {

class UringListener final : public ListenerSink<UringDepartingHandle> {
  public:
    UringListener(UringIoHandler& handler, Fd fd, Channel& channel, ChildSetup children) noexcept
        : ListenerSink(channel, std::move(children), handler, std::move(fd)), accept_(*this) {}

    void wantRead(bool on) override;
    void acceptWaiting() override;
    void deregister(ChannelPromise promise) override { leaveByDeregistering(std::move(promise)); }
    void close(ChannelPromise promise) override { leaveByClosing(std::move(promise)); }

  protected:
    void dispatch() override;
    void abort() noexcept override { closeChannel(); }
    void onListening() override { adjust(); }
    void onPauseEnded() override { adjust(); }

  private:
    struct Accept : UringOperation {
        explicit Accept(UringListener& owner) noexcept : UringOperation(kind, owner.inFlight()), listener(owner) {}
        static const Kind kind;
        UringListener& listener;
    };

    void cancelAll() noexcept override;
    void lastCalls() override;
    void completed(int result);
    void noteError(int error) noexcept { acceptError_ = fromErrno(error); }
    void adjust();
    bool keep(int connection) noexcept;
    bool deliverWaiting();

    Accept accept_;
    detail::Ring<Fd> accepted_;
    ErrorCode acceptError_;  // to be reported to the channel
    bool wantsRead_ = false;
};

}  // namespace weft
