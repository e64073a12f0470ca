// MessageWrites: the forms of write() that a channel and a context of a handler share.
#pragma once

#include <utility>

#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/refused_calls.hpp>
#include <weft/pipeline/message.hpp>

namespace weft::detail {

// Writer: the class that is derived from this one; it has write(), writeAndFlush() and newPromise().
template <class Writer>
class MessageWrites {
  public:
    template <class T>
    requires RefusedMessage<T&&> NoFuture write(T&&, ChannelPromise = {}) { refuseMessage<T>(); }
    template <class T>
    requires RefusedMessage<T&&> NoFuture writeAndFlush(T&&, ChannelPromise = {}) { refuseMessage<T>(); }
    // As writeAndFlush(), and returns the future of the write. Allocates (pooled).
    ChannelFuture writeFuture(Message&& message) {
        Writer& writer = static_cast<Writer&>(*this);
        const ChannelPromise promise = writer.newPromise();
        writer.writeAndFlush(std::move(message), promise);
        return promise.future();
    }
};

}  // namespace weft::detail
