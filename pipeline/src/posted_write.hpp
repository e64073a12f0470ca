// PostedWrite: a write from another thread that is posted to the loop. Its bytes count as pending from its submission
// on (TH-4).
#pragma once

#include <cstddef>
#include <utility>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/channel_pin.hpp>
#include <weft/pipeline/detail/thread_cache.hpp>

#include <weft/pipeline/detail/lost_writes.hpp>

namespace weft::detail {

class PostedWrite : public InThreadCache {
  public:
    static constexpr std::size_t taskOverhead = 32;  // bytes that a task counts besides its message (TH-4)

    PostedWrite(ChannelHandlerContext& context, Message&& message, ChannelPromise promise, bool flush)
        : channel_(ChannelRef(context.channel())),
          pin_(context.channel()),
          context_(context),
          message_(std::move(message)),
          promise_(std::move(promise)),
          bytes_(message_.estimatedBytes() + taskOverhead),
          flush_(flush) {
        channel_->addSubmitted(bytes_);
    }
    // If the loop ended before run(), fails the promise. The message is released with this object.
    ~PostedWrite() {
        if (ran_) return;
        channel_->subtractSubmitted(bytes_);
        if (promise_.isVoid()) logUndeliveredWrite(*channel_, message_);
        promise_.tryFailure(operationAborted());
    }
    void run() {
        ran_ = true;
        channel_->subtractSubmitted(bytes_);
        try {
            if (flush_) {
                context_.writeAndFlush(std::move(message_), promise_);
            } else {
                context_.write(std::move(message_), promise_);
            }
        } catch (...) {
            promise_.tryFailure(std::current_exception());
        }
        channel_->updateWritability();  // needed when a handler kept the message: then nothing else calls it
    }

  private:
    ChannelRef channel_;
    ChannelPin pin_;
    ChannelHandlerContext& context_;
    Message message_;
    ChannelPromise promise_;
    std::size_t bytes_;
    bool flush_;
    bool ran_ = false;
};

}  // namespace weft::detail
