// The way out of HTTP/1.1: another protocol takes the connection over (RFC 9110, 7.8 and 9.3.6).
#include <weft/pipeline/http/server_codec.hpp>

#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_events.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_option.hpp>

namespace weft::http {

// The request that asked for another protocol has been read and answered. Anything but consent, and HTTP goes on.
void ServerCodec::decideProtocol() {
    if (switching_ != 0) return beginSwitch();
    expects_ = Input::head;
}

// From a task, so that no handler finds its pipeline changed when its write returns. Until then the input waits.
void ServerCodec::beginSwitch() {
    pause();
    flush(*ctx_);
    ctx_->loop().execute([channel = ChannelRef(ctx_->channel())] {
        channel->pipeline().fireUserEventTriggered(Message(detail::SwitchDue{}));
    });
}

void ServerCodec::switchProtocol() {
    if (ctx_ == nullptr || expects_ != Input::undecided) return;
    expects_ = Input::switched;
    special_.paused = false;
    patience_.end();
    if (flushWanted_) onFlushPoint();
    restoreHalfClosure();
    if (ctx_ == nullptr) return;
    ctx_->fireUserEventTriggered(Message(ProtocolSwitched{switching_}));
    if (ctx_ != nullptr) passInputOn();
    if (ctx_ != nullptr && std::exchange(readWanted_, false)) ctx_->read();
}

// What came behind the last request, and the end of it.
void ServerCodec::passInputOn() {
    if (!input_.empty() && expects_ != Input::ended) {
        ctx_->fireChannelRead(Message(std::exchange(input_, Buffer())));
        ctx_->fireChannelReadComplete();
    }
    if (!std::exchange(inputShutdown_, false)) return;
    if (hadHalfClosure_) {
        ctx_->fireUserEventTriggered(Message(InputShutdownEvent{}));
    } else {
        ctx_->close();
    }
}

void ServerCodec::restoreHalfClosure() {
    ctx_->channel().setOption(ChannelOption::ALLOW_HALF_CLOSURE, hadHalfClosure_);
}

}  // namespace weft::http
