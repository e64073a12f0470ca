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
    // write() for a value: a large one stays where it is unless a handler keeps the message (Message::lend()).
    // Afterwards `value` may only be destroyed or assigned to.
    template <class T>
    requires LendableValue<T&&>
    void write(T&& value, ChannelPromise promise = {}) { writer().write(Message::lend(value), std::move(promise)); }
    template <class T>
    requires LendableValue<T&&>
    void writeAndFlush(T&& value, ChannelPromise promise = {}) {
        writer().writeAndFlush(Message::lend(value), std::move(promise));
    }
    template <class T>
    requires RefusedMessage<T&&> NoFuture write(T&&, ChannelPromise = {}) { refuseMessage<T>(); }
    template <class T>
    requires RefusedMessage<T&&> NoFuture writeAndFlush(T&&, ChannelPromise = {}) { refuseMessage<T>(); }
    // As writeAndFlush(), and returns the future of the write. Allocates (pooled).
    ChannelFuture writeFuture(Message&& message) {
        const ChannelPromise promise = writer().newPromise();
        writer().writeAndFlush(std::move(message), promise);
        return promise.future();
    }

  private:
    Writer& writer() noexcept { return static_cast<Writer&>(*this); }
};

}  // namespace weft::detail
