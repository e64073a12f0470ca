// ChannelHandlerContext: one handler's position in a pipeline. The handler calls its neighbours and channel through it.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/detail/event_mask.hpp>
#include <weft/pipeline/detail/message_writes.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/scheduler/spawn_options.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

class ChannelOutput;
class ChannelPipeline;
class EventLoop;
template <class T>
class JoinHandle;
namespace detail {
class EncoderCalls;
}  // namespace detail

// A handler receives events in `added` only; in any other state they skip it (H-2).
enum class HandlerState : unsigned char { init, addPending, added, removed };

// Context: operations and fireX: any thread; off the loop each becomes a task, and the calls of one thread keep their
// order (TH-2). Everything else: the channel's loop. Never blocks.
// Lifetime: valid while the handler is in the pipeline, while one of its callbacks runs, and while a fiber runs that it
// started with spawn(). Other code keeps a ChannelRef instead.
class ChannelHandlerContext : public detail::MessageWrites<ChannelHandlerContext> {
  public:
    ChannelHandlerContext(const ChannelHandlerContext&) = delete;
    ChannelHandlerContext& operator=(const ChannelHandlerContext&) = delete;
    virtual ~ChannelHandlerContext() = default;  // the pipeline destroys it

    Channel& channel() const noexcept { return channel_; }
    ChannelPipeline& pipeline() const noexcept;
    EventLoop& loop() const noexcept;
    ChannelHandler& handler() const noexcept { return *handler_; }
    // The name given at add time, or "SimpleType#n".
    std::string name() const;
    bool removed() const noexcept { return state_ == HandlerState::removed; }
    HandlerState state() const noexcept { return state_; }

    // Call the next inbound handler towards the tail. (P-2)
    void fireChannelRegistered();
    void fireChannelUnregistered();
    void fireChannelActive();
    void fireChannelInactive();
    void fireChannelRead(Message&& message);
    void fireChannelReadComplete();
    void fireUserEventTriggered(Message&& event);
    void fireChannelWritabilityChanged();
    void fireExceptionCaught(std::exception_ptr cause);

    // Call the next outbound handler towards the head (P-2). The forms that return a future create its promise; writes
    // default to the void promise, which costs nothing and reports nothing.
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
    using MessageWrites::write;
    using MessageWrites::writeAndFlush;

    // Writes and flushes, and closes the channel once the write has succeeded or failed (C-5). Returns the channel's
    // close future.
    ChannelFuture writeAndClose(Message&& message);

    // ---- for encoders, in write() or wherever else they produce bytes ----
    // Where to append the bytes of a message: the output of the channel itself, or, if another handler sees writes
    // after this one, an output whose bytes that handler gets as Buffers. Then call finishOutput(), before anything
    // that calls a handler. Valid until then. Context: the loop, in a handler. Throws std::bad_alloc.
    ChannelOutput& output();
    // The bytes of a message are complete. `promise` covers them; it should be uncancellable (W-2), because cancelling
    // it removes nothing. Calls the handlers that see the bytes, and those of channelWritabilityChanged().
    void finishOutput(ChannelPromise&& promise);

    // For handlers that act on the ends of read cycles only now and then. Initially on for handlers that override
    // channelReadComplete() or read(); without effect for others. `false` promises that, under AUTO_READ, your
    // overrides of both only forward: the channel may then end read cycles without calling them. `true` takes effect
    // at the end of the running cycle. Both overrides are called all the same while AUTO_READ is off, while another
    // handler of the pipeline watches, and for an explicit read() or fireChannelReadComplete(). Call this as often as
    // needed, from handlerAdded() on. Context: the loop. Calls no handler.
    void watchReadCycles(bool on) noexcept;

    ChannelPromise newPromise() const;

    // Starts fn() as a fiber on this channel's carrier. The fiber may block; this context and its handler outlive it.
    // Closing the channel cancels it: its current blocking call and each later one that has to wait fail with
    // operation_aborted, except under a CancellationShield. Spawn work that must outlive the connection on the carrier
    // instead. The fiber is detached: an exception from fn() is logged with this handler and its channel, at level
    // error, or debug when the end of the channel caused it. Include weft/pipeline/context_spawn.hpp. Throws
    // std::logic_error on an embedded loop, SystemError(operation_aborted) when the carrier shuts down.
    template <class F>
    void spawn(F&& fn, SpawnOptions options = {});
    // As spawn(), with a handle, for another fiber that waits for this one or cancels it alone. An exception from fn()
    // is rethrown by join(), and logged only if the handle is dropped.
    template <class F>
    auto spawnJoinable(F&& fn, SpawnOptions options = {}) -> JoinHandle<std::invoke_result_t<std::decay_t<F>&>>;

    // Calls fn() once, as a callback of this handler: on the loop, where nothing may block, and not before `delay` has
    // passed; an exception from fn() goes to this handler's exceptionCaught(). The handler's removal, and so the end of
    // the channel, cancels the task and destroys fn. Returns an empty ScheduledTask, and drops fn, if the handler has
    // been removed already. A delay beyond Duration::max() is cut to it; a negative one counts as 0. Throws
    // SystemError(operation_aborted) once the loop has ended, and std::bad_alloc. Context: the loop.
    ScheduledTask schedule(UniqueFunction<void()> fn, Duration delay);
    template <class Rep, class Period>
    ScheduledTask schedule(UniqueFunction<void()> fn, std::chrono::duration<Rep, Period> delay) {
        return schedule(std::move(fn), saturated(delay));
    }

  protected:
    ChannelHandlerContext(Channel& channel, detail::EventMask mask, const detail::HandlerType& type)
        : type_(type), channel_(channel), fullMask_(mask), watchesReads_(mask & detail::Event::readCycle) {}
    // Called by the derived class, which owns the handler.
    void setHandler(ChannelHandler& handler) noexcept { handler_ = &handler; }

  private:
    friend class Channel;
    friend class ChannelPipeline;
    friend class detail::Delivery;
    friend class detail::EncoderCalls;

    struct Name {
        std::string given;     // empty: automatic
        unsigned ordinal = 0;  // the n of an automatic name "Type#n"
    };

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

    // Call this handler (passRead(): the next one). Context: the loop, inside a pipeline entry. Never throw.
    template <class Call>
    void invokeInbound(Call call) noexcept;
    template <class Call>
    void invokeOutbound(const ChannelPromise& promise, Call call) noexcept;
    void invokeWrite(Message&& message, ChannelPromise&& promise) noexcept;
    void invokeFlush() noexcept;
    void passRead(Message&& message) noexcept;
    void flushAfterWrite() noexcept;
    void inboundThrew() noexcept;
    void writeThrew() noexcept;
    void invokeExceptionCaught(std::exception_ptr cause) noexcept;
    bool isNamed() const noexcept { return name_ != nullptr && !name_->given.empty(); }
    unsigned ordinal() const noexcept { return name_ != nullptr ? name_->ordinal : 0; }
    bool isCalled(std::string_view name) const noexcept;  // without an allocation
    std::string automaticName(unsigned ordinal) const;
    void becomeAdded() noexcept;
    void becomeRemoved() noexcept;
    void countReadWatcher(bool on) noexcept;
    void cancelTimers() noexcept;
    bool refused(const ChannelPromise& promise) const { return !promise.isVoid() && promiseRefused(promise); }
    bool promiseRefused(const ChannelPromise& promise) const;
    // True inside a pipeline entry of this channel: on its loop, where nothing suspends.
    bool entered() const noexcept;
    template <class F>
    void enter(const ChannelPromise& promise, F call);
    template <class F>
    void enterClose(const ChannelPromise& promise, F call);
    ChannelHandlerContext& nextWriter() const noexcept;
    bool writesDirectly() const noexcept;
    void passOutput(ChannelPromise&& promise);
    void writeAndFlushSlow(Message&& message, ChannelPromise&& promise);
    void enterRead(Message&& message);
    void enterWrite(Message&& message, ChannelPromise&& promise, bool flush);
    void postWrite(Message&& message, ChannelPromise promise, bool flush);

    // Members that no event touches come first. Those that every event touches follow, directly before the handler
    // itself.
    const detail::HandlerType& type_;  // that the handler was added as
    std::unique_ptr<Name> name_;       // null: automatic, with the ordinal 0
    ChannelHandlerContext* nextRemoved_ = nullptr;

    Channel& channel_;
    ChannelHandlerContext* previous_ = nullptr;  // kept after removal: handlerRemoved() may still forward (H-6, H-7)
    ChannelHandlerContext* next_ = nullptr;
    ChannelHandler* handler_ = nullptr;
    detail::EventMask mask_ = 0;  // fullMask_ while `added`, else 0: one test decides whether an event stops here
    const detail::EventMask fullMask_ : 24;
    HandlerState state_ : 2 = HandlerState::init;
    bool linked_ : 1 = false;
    bool watchesReads_ : 1;       // set for handlers of read cycle events only; counted by the pipeline while `added`
    bool hasTimers_ : 1 = false;  // schedule() has been called
};

}  // namespace weft
