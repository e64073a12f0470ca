// ChannelHandlerContext: one handler's position in a pipeline; how a handler speaks to its neighbours and its channel.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/event_mask.hpp>
#include <weft/pipeline/detail/refused_calls.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/spawn_options.hpp>

namespace weft {

class Channel;
class ChannelHandler;
class ChannelPipeline;
class EventLoop;
namespace detail {
class Delivery;
struct ContextDeleter;
}  // namespace detail

// H-2. Events reach a handler in `added` only; in any other state they pass it by.
enum class HandlerState : unsigned char { init, addPending, added, removed };

// Context: any thread may call the operations and fireX; off the loop each becomes a task, in order (TH-2). Everything
// else: the channel's loop.
// Blocks never. Lifetime: as long as the handler is in the pipeline, any callback of it runs, or a fiber that it
// spawned with spawn() runs; other code keeps a ChannelRef instead.
class alignas(64) ChannelHandlerContext {  // a cache line: see its last members
  public:
    ChannelHandlerContext(const ChannelHandlerContext&) = delete;
    ChannelHandlerContext& operator=(const ChannelHandlerContext&) = delete;

    Channel& channel() const noexcept { return channel_; }
    ChannelPipeline& pipeline() const noexcept;
    EventLoop& loop() const noexcept;
    ChannelHandler& handler() const noexcept { return *handler_; }
    // The name given at add time, or "SimpleType#n".
    std::string name() const;
    bool removed() const noexcept { return state_ == HandlerState::removed; }
    HandlerState state() const noexcept { return state_; }

    // Tell the next inbound handler towards the tail. (P-2)
    void fireChannelRegistered();
    void fireChannelUnregistered();
    void fireChannelActive();
    void fireChannelInactive();
    void fireChannelRead(Message&& message);
    void fireChannelReadComplete();
    void fireUserEventTriggered(Message&& event);
    void fireChannelWritabilityChanged();
    void fireExceptionCaught(std::exception_ptr cause);

    // Ask the next outbound handler towards the head. (P-2) The forms without a promise make one; write's default is
    // the void promise: it costs nothing and tells nobody.
    ChannelFuture bind(const SocketAddress& local);
    ChannelFuture connect(const SocketAddress& remote);
    ChannelFuture disconnect();
    ChannelFuture close();
    ChannelFuture deregister();
    void bind(const SocketAddress& local, ChannelPromise promise);
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise);
    void disconnect(ChannelPromise promise);
    void close(ChannelPromise promise);
    void deregister(ChannelPromise promise);
    void read();
    void write(Message&& message, ChannelPromise promise = {});
    void flush();
    void writeAndFlush(Message&& message, ChannelPromise promise = {});
    // The same of a value: a large one stays where it is unless a handler keeps it (Message::lend()); what is left of
    // it may only be destroyed or assigned to.
    template <class T>
    requires LendableValue<T&&>
    void write(T&& value, ChannelPromise promise = {}) { write(Message::lend(value), std::move(promise)); }
    template <class T>
    requires LendableValue<T&&>
    void writeAndFlush(T&& value, ChannelPromise promise = {}) {
        writeAndFlush(Message::lend(value), std::move(promise));
    }
    template <class T>
    requires detail::RefusedMessage<T&&> detail::NoFuture write(T&&, ChannelPromise = {}) {
        detail::refuseMessage<T>();
    }
    template <class T>
    requires detail::RefusedMessage<T&&> detail::NoFuture writeAndFlush(T&&, ChannelPromise = {}) {
        detail::refuseMessage<T>();
    }

    // For codecs that gather their output until the loop's flush point (EventLoop::requestFlushPoint()): gives `bytes`
    // to the transport at once and says how many it has taken. The rest is for writeAndFlush(); it may be all, because
    // another handler has to see it, earlier writes wait, the socket is full, or this is no flush point. `storage` owns
    // the bytes; they must not change for as long as the transport keeps a share of it (Buffer::unique()). A null one
    // owns nothing: then only a transport that sends at once takes anything. Context: the loop. Runs no handler.
    std::size_t tryWriteStraight(std::string_view bytes, const Buffer& storage) noexcept;

    // For handlers that act on the ends of read cycles only now and then. On from the start for each handler that
    // overrides channelReadComplete() or read(); without effect for others. Off is a promise: while the channel reads
    // automatically (AUTO_READ), both would do no more than pass the event on, so the cycles may end without a call of
    // them until the handler says on again; in the middle of a cycle, that is from this cycle's end. Calls may still
    // come: with AUTO_READ off or when another handler of the pipeline watches, all handlers are called, and so they
    // are for a read() or fireChannelReadComplete() that somebody calls. May be said as often as wanted, from
    // handlerAdded() on. Context: the loop. Runs no handler.
    void watchReadCycles(bool on) noexcept;

    ChannelPromise newPromise() const;

    // Starts fn() as a fiber on this channel's carrier: it may block, and this context and its handler outlive it. When
    // the channel is closed the fiber is cancelled: the blocking call that it is in, and each later one, ends with
    // operation_aborted, unless a CancellationShield is alive; work that must not end with the connection goes into a
    // fiber of the carrier. Nobody joins it: an exception that it ends with is logged with this handler
    // and its channel, as an error, or for debugging only when the end of the channel caused it. Include
    // weft/pipeline/context_spawn.hpp. Throws std::logic_error on an embedded loop, SystemError(operation_aborted) when
    // the carrier shuts down.
    template <class F>
    void spawn(F&& fn, SpawnOptions options = {});

  protected:
    ChannelHandlerContext(Channel& channel, detail::EventMask mask, std::string_view typeName, const void* typeTag)
        : typeTag_(typeTag),
          typeName_(typeName),
          channel_(channel),
          fullMask_(mask),
          watchesReads_(mask & detail::Event::readCycle) {}
    virtual ~ChannelHandlerContext() = default;
    // The derived class owns the handler and says here where it is.
    void holds(ChannelHandler& handler, void* object) noexcept {
        handler_ = &handler;
        object_ = object;
    }

  private:
    friend class Channel;
    friend class ChannelPipeline;
    friend class detail::Delivery;
    friend struct detail::ContextDeleter;

    ChannelHandlerContext& nextInbound(detail::EventMask event) const noexcept {
        ChannelHandlerContext* context = next_;
        while (!(context->mask_ & event)) context = context->next_;
        return *context;
    }
    ChannelHandlerContext& nextOutbound(detail::EventMask events) const noexcept {
        ChannelHandlerContext* context = previous_;
        while (!(context->mask_ & events)) context = context->previous_;
        return *context;
    }

    // Call this handler (passRead(): the next one), on the loop inside a pipeline entry; never throw.
    template <class Call>
    void invokeInbound(Call call) noexcept;
    template <class Call>
    void invokeOutbound(const ChannelPromise& promise, Call call) noexcept;
    void invokeWrite(Message&& message, ChannelPromise&& promise) noexcept;
    void invokeFlush() noexcept;
    void passRead(Message&& message) noexcept;
    void flushBehindWrite() noexcept;
    void inboundThrew() noexcept;
    void writeThrew() noexcept;
    void invokeExceptionCaught(std::exception_ptr cause) noexcept;
    void becomeAdded() noexcept;
    void becomeRemoved() noexcept;
    void countReadWatcher(bool on) noexcept;
    bool refused(const ChannelPromise& promise) const { return !promise.isVoid() && promiseRefused(promise); }
    bool promiseRefused(const ChannelPromise& promise) const;
    // True inside a pipeline entry of this channel: on its loop, where nothing suspends.
    bool entered() const noexcept;
    template <class F>
    void enter(const ChannelPromise& promise, F call);
    ChannelHandlerContext& nextWriter() const noexcept;
    void writeAndFlushElse(Message&& message, ChannelPromise&& promise);
    void enterRead(Message&& message);
    void enterWrite(Message&& message, ChannelPromise&& promise, bool flush);
    void postWrite(Message&& message, ChannelPromise promise, bool flush);

    // What no event touches; then what every event touches, in one cache line, in front of the handler itself.
    const void* typeTag_;
    void* object_ = nullptr;  // the handler as what it was added as
    std::string_view typeName_;
    std::string name_;  // empty: automatic
    ChannelHandlerContext* nextRemoved_ = nullptr;

    Channel& channel_;
    ChannelHandlerContext* previous_ = nullptr;  // kept after removal: handlerRemoved() may still forward (H-6, H-7)
    ChannelHandlerContext* next_ = nullptr;
    ChannelHandler* handler_ = nullptr;
    detail::EventMask mask_ = 0;  // fullMask_ while `added`, else 0: one test decides whether an event stops here
    const detail::EventMask fullMask_;
    HandlerState state_ = HandlerState::init;
    bool linked_ = false;
    bool watchesReads_;     // only handlers of read cycle events; counted by the pipeline while `added`
    unsigned ordinal_ = 0;  // of automatic names
};

}  // namespace weft
