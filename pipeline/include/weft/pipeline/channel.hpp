// Channel: one connection or listener. It owns its state, its pipeline, its pending writes and its transport, a
// ChannelSink. It knows events and operations, never a descriptor. Transports and bootstraps create it; users hold a
// ChannelRef.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/pipeline/attribute_key.hpp>
#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/channel_pipeline.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/pipeline/detail/answer_ledger.hpp>
#include <weft/pipeline/detail/attribute_map.hpp>
#include <weft/pipeline/detail/channel_state.hpp>
#include <weft/pipeline/detail/message_writes.hpp>
#include <weft/pipeline/detail/read_cycle.hpp>
#include <weft/pipeline/detail/read_size.hpp>
#include <weft/pipeline/detail/sink_writes.hpp>
#include <weft/pipeline/detail/writability.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/detail/biased_count.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

class ChannelFilter;
namespace detail {
class ChannelPin;
class PostedWrite;
}  // namespace detail

// Context: operations, state queries and isWritable(): any thread. Options: the loop, or before registration the thread
// that builds the channel; from other threads setOption() becomes a task. Up-calls: the sink, on the loop. Operations
// never block; awaiting their futures does. The end of the loop closes its channels, also those that have been
// deregistered, which it does not keep alive. From then on, operations fail with operation_aborted, except that the
// close of a closed channel succeeds.
// Events come in this order (S-1..S-6); inactive only follows active, and unregistered only follows registered:
// handlerAdded*, registered, active, { read* readComplete }*, inactive, unregistered, handlerRemoved*. The ids of rules
// (S-1, W-3) are those of docs/reference/rules.md.
class Channel final : private FlushPointListener, public detail::MessageWrites<Channel> {
  public:
    static constexpr std::size_t flushCap = 64 * 1024;  // flushed bytes at which a flush writes at once (W-7)
    static constexpr std::size_t minReadBytes = detail::ReadSize::least;    // the smallest read buffer
    static constexpr std::size_t firstReadBytes = detail::ReadSize::first;  // the first read buffer

    // The channel keeps the loop if a std::shared_ptr owns it, as those of an EventLoopGroup; any other loop must
    // outlive every use of the channel except open(), id() and the release of references. Allocates.
    static ChannelRef create(EventLoop& loop);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    // ---- building: before registration, on the thread that builds the channel ----
    void attach(std::unique_ptr<ChannelSink> sink);
    // On the loop, in this order (S-1): attaches to the poller, calls handlerAdded() of all handlers, completes the
    // promise, fires channelRegistered, then channelActive if the channel is active, and reads if AUTO_READ is on. A
    // failure closes the channel and fails the promise; without a promise, it is logged.
    void registerWithLoop(ChannelPromise promise);
    ChannelFuture registerWithLoop();
    // Puts a filter between this channel and its transport, for good. What has been written before is sent as it is.
    // `received`: bytes that the transport has delivered and the filter is to get; those that come later follow them.
    // Does nothing once the channel is closed. Throws std::logic_error for a listener and for a transport of whole
    // messages, and std::bad_alloc; then nothing has changed. Context: as for options; not a task.
    void addFilter(std::unique_ptr<ChannelFilter> filter, Buffer&& received = {});
    // For accepted streams, which are active before they are registered.
    void setActive(bool active) noexcept { active ? state_.set(State::isActive) : state_.clear(State::isActive); }

    // ---- state ----
    EventLoop& loop() const noexcept { return loop_; }
    // As loop(), but throws std::logic_error before registration. (TH-3)
    EventLoop& eventLoop() const;
    ChannelPipeline& pipeline() noexcept { return pipeline_; }
    ChannelSink* sink() const noexcept { return sink_.get(); }
    // True once a close has begun or registration has failed.
    bool closed() const noexcept { return state_.is(State::isClosed); }
    bool open() const noexcept { return !closed(); }
    bool registered() const noexcept { return state_.is(State::isRegistered); }
    // Connected (a listener: bound) and not closed.
    bool active() const noexcept { return state_.is(State::isActive, State::isClosed); }
    // Context: the loop.
    SocketAddress localAddress() const { return sink_ ? sink_->localAddress() : SocketAddress(); }
    SocketAddress remoteAddress() const { return sink_ ? sink_->remoteAddress() : SocketAddress(); }
    // True where changes of the pipeline and of options take effect before the call returns: on the loop and, before
    // registration, on the thread that builds the channel (not checked). A guest fiber of the loop's carrier first goes
    // home.
    bool mayConfigureHere() const noexcept;
    // Unique in the process; for logs.
    std::uint64_t id() const noexcept { return id_; }

    // ---- operations, from the tail of the pipeline ----
    ChannelFuture bind(const SocketAddress& local) { return pipeline_.bind(local); }
    ChannelFuture connect(const SocketAddress& remote) { return pipeline_.connect(remote); }
    ChannelFuture disconnect() { return pipeline_.disconnect(); }
    ChannelFuture close() { return pipeline_.close(); }
    ChannelFuture deregister() { return pipeline_.deregister(); }
    void bind(const SocketAddress& local, ChannelPromise promise) { pipeline_.bind(local, std::move(promise)); }
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
        pipeline_.connect(remote, local, std::move(promise));
    }
    void close(ChannelPromise promise) { pipeline_.close(std::move(promise)); }
    void read() { pipeline_.read(); }
    // The default, the void promise, reports nothing; pass newPromise() to learn the outcome.
    void write(Message&& message, ChannelPromise promise = {}) {
        pipeline_.write(std::move(message), std::move(promise));
    }
    void flush() { pipeline_.flush(); }
    void writeAndFlush(Message&& message, ChannelPromise promise = {}) {
        pipeline_.writeAndFlush(std::move(message), std::move(promise));
    }
    using MessageWrites::write;
    using MessageWrites::writeAndFlush;
    // Writes and flushes, and closes the channel once the write has succeeded or failed (C-5). Returns closeFuture().
    ChannelFuture writeAndClose(Message&& message);
    // Writes what has been flushed, as far as the transport takes it without waiting, then ends the output side. Writes
    // still pending fail with OutputShutdownException, OutputShutdownEvent is fired, and reading continues (HC-3). If
    // the transport refuses (after a reset by the peer), the output stays open and those writes stay pending.
    ChannelFuture shutdownOutput();
    void shutdownOutput(ChannelPromise promise);

    ChannelPromise newPromise() { return ChannelPromise(*this); }
    // Completes when the channel is closed; only the channel completes it. (C-7)
    ChannelFuture closeFuture() noexcept;

    // ---- writability ----
    // False while too many bytes are pending or a user-defined bit is false. Advisory: writes are accepted all the
    // same. (W-3, W-4, TH-4)
    bool isWritable() const noexcept { return writability_.isWritable(); }
    // How many more pending bytes would make the channel unwritable; 0 when it is unwritable.
    std::size_t bytesBeforeUnwritable() const noexcept;
    // How many pending bytes must be sent to fall below the low water mark; 0 when the channel is writable, or when
    // they are below it already: then a user-defined bit makes the channel unwritable.
    std::size_t bytesBeforeWritable() const noexcept;
    std::size_t pendingBytes() const noexcept;
    // Bytes that the kernel has accepted so far; shows whether a slow peer still makes progress. Context: the loop.
    std::uint64_t writtenBytes() const noexcept;
    // Sets one of the application's 31 bits; the channel is writable only while all are true (W-3). `index`: 1 to 31;
    // throws std::out_of_range otherwise.
    void setUserDefinedWritability(unsigned index, bool writable);

    // ---- attributes: what handlers keep with the channel ----
    // The channel's value for `key`, default-constructed at the first call. The reference is valid until the channel is
    // destroyed. That destroys the values, on the thread that releases the last reference to the channel. Context: the
    // loop, or before registration the thread that builds the channel. Throws std::bad_alloc, and what T's constructor
    // throws.
    template <class T>
    T& attr(const AttributeKey<T>& key) {
        if (void* const value = attributes_.find(&key)) return *static_cast<T*>(value);
        return attributes_.add<T>(&key);
    }
    // False: attr(key) would make a new value. Context: as attr().
    template <class T>
    bool hasAttr(const AttributeKey<T>& key) const noexcept {
        return attributes_.find(&key) != nullptr;
    }

    // ---- options ----
    // Context: any thread. On the loop, and before registration on the thread that builds the channel, the option is
    // set at once, and the result is the transport's error, if any. From other threads a task sets it, in the order of
    // the calls: the result is then {}, and a refusal is only logged. Once the loop has ended, the result is
    // operation_aborted.
    template <class T>
    ErrorCode setOption(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        if constexpr (std::is_convertible_v<T, int>) {
            if (!option.field) return setSocketOption(option.name, option.socket, static_cast<int>(value));
        }
        return changeConfig([field = option.field, value](ChannelConfig& config) { config.*field = value; });
    }
    // Context: the loop, or before registration the thread that builds the channel. A socket option throws
    // std::logic_error on any other thread, and SystemError when the transport refuses it.
    template <class T>
    T option(const TypedChannelOption<T>& option) const {
        if constexpr (std::is_convertible_v<T, int>) {
            if (!option.field) return static_cast<T>(socketOption(option.name, option.socket));
        }
        return config_.*option.field;
    }
    const ChannelConfig& config() const noexcept { return config_; }

    // The running fibers that handlers started with ctx.spawn(). Closing the channel cancels them, after
    // channelInactive. Context: the loop.
    FiberSet& fibers() noexcept { return fibers_; }

    // ---- up-calls from the sink; a handler may close the channel during any: the sink then checks closed() ----
    // Fires one channelRead(Buffer).
    void onRead(Buffer&& bytes) noexcept;
    // Listeners: fires one channelRead(ChannelRef) per accepted child, which is not registered yet.
    void onMessage(Message&& message) noexcept;
    // Ends a read cycle: the sink calls it once after the last onRead() or onMessage() of the cycle.
    void onReadComplete() noexcept;
    // onRead() and, unless that closed the channel, onReadComplete().
    void onLastRead(Buffer&& bytes) noexcept;
    // The peer ended its output. Ends the read cycle: the channel fires channelReadComplete itself (HC-1; with
    // ALLOW_HALF_CLOSURE only if the cycle has had a message) and ignores an onReadComplete() that follows.
    void onEof() noexcept;
    // The kernel has accepted the next `bytes` bytes of the output. True: no flushed bytes are left, or the channel has
    // closed, so the sink sends nothing more.
    bool onWritten(std::size_t bytes) noexcept {
        const bool isPlain = output_.isPlain() && isWritable() && writes_.reportsDirectly();
        return isPlain ? output_.consumePlain(bytes) : consume(bytes);
    }
    // The socket was full and takes bytes again: the channel flushes.
    void onWritable() noexcept;
    // A read error or reset closes the channel (E-6); an accept error does not close the listener (E-7).
    void onError(ErrorCode error) noexcept;
    // A write error closes the channel, or only its output with AUTO_CLOSE off. (E-8)
    void onWriteError(ErrorCode error) noexcept;
    // False: the sink ends this read cycle now. It checks after every onRead and onMessage.
    bool keepReading() const noexcept {
        return config_.autoRead && reads_.messages() < config_.maxMessagesPerRead && !closed() && !reads_.inputEnded();
    }
    // Size of the buffer for the next read, in bytes; it follows the sizes of earlier reads.
    std::size_t readBufferSize() const noexcept { return readSize_.bytes(); }

    // The requests without an answer, kept by the codec while it is in the pipeline; null: there is no such codec.
    // Context: the loop.
    detail::AnswerLedger* ledger() const noexcept { return ledger_; }
    void setLedger(detail::AnswerLedger* ledger) noexcept { ledger_ = ledger; }

  private:
    friend class detail::HeadHandler;    // calls the operations of the channel
    friend class detail::PipelineEntry;  // owns depth_ and scope_
    friend class detail::ChannelPin;
    friend class detail::EncoderCalls;
    friend class detail::DeregisteredChannels;
    friend class detail::PostedWrite;
    friend class ChannelFilter;          // makes the up-calls of the transport
    friend class ChannelHandlerContext;  // completes the closes that the loop refuses
    friend void detail::retainChannel(Channel&) noexcept;
    friend void detail::releaseChannel(Channel&) noexcept;

    explicit Channel(EventLoop& loop);
    ~Channel() override;
    static void destroy(Channel& channel) noexcept;

    // Life (channel_lifecycle.cpp).
    void registerNow(const ChannelPromise& promise);
    void failRegistration(const ChannelPromise& promise, std::exception_ptr cause);
    void becomeActive();
    void deregisterNow(ChannelPromise promise);
    void unregister();
    template <class F>
    void runInLoop(F&& operation);

    // Operations that reach the head of the pipeline (channel_operations.cpp, channel_write.cpp, channel_read.cpp).
    void headBind(const SocketAddress& local, ChannelPromise promise);
    void headConnect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise);
    void headClose(ChannelPromise promise);
    void headDeregister(ChannelPromise promise);
    void headWrite(Message&& message, ChannelPromise&& promise);
    void refuseLate(Message&& message, const ChannelPromise& promise);
    void headFlush();
    bool takesOutput() const noexcept {
        return state_.is(0, State::isClosed | State::outputEnded) && output_.bytesOnly();
    }
    // True if `bytes` more, as one piece at most, leave the channel's writability as it is.
    bool hasRoomFor(std::size_t bytes) const noexcept {
        const std::size_t most = output_.pendingBytes() + writability_.submitted() + bytes + ChannelOutput::entryBytes;
        return most <= config_.writeBufferWaterMark.high();
    }
    bool markFlush() noexcept;

    void connected(const ChannelFuture& attempt, const ChannelPromise& promise);
    void startConnectTimer(const ChannelPromise& promise, const SocketAddress& remote);
    void stopConnectTimer() noexcept;

    // Closing (channel_close.cpp), in the order in which it happens.
    void beginClose(ChannelPromise promise, std::exception_ptr cause);
    void completeWithClose(const ChannelPromise& promise);
    void refuseClose(const ChannelPromise& promise, std::exception_ptr cause);
    void socketClosed(const ChannelPromise& promise);
    void endOutput(ChannelPromise promise, bool broken);
    void closeAfterError(std::exception_ptr cause) noexcept;
    void failPendingWrites();
    void tearDownWithoutTask() noexcept;
    void tearDownAtFlushPoint() noexcept;
    void tearDown();
    std::exception_ptr closedException() const;
    void refuse(const ChannelPromise& promise) const { promise.tryFailure(closedException()); }

    void onFlushPoint() noexcept override;
    void flushNow() noexcept;
    void afterFlush(std::uint64_t given) noexcept;
    // A channel that is not registered may end before the flush point; its registration flushes.
    void requestFlushPoint() noexcept {
        if (registered()) loop_.requestFlushPoint(*this);
    }
    bool consume(std::size_t bytes) noexcept;
    void writable() noexcept;
    void failOutput(ErrorCode error) noexcept;

    // With a filter (channel_filtering.cpp).
    bool filtered() const noexcept { return state_.is(State::isFiltered); }
    ChannelFilter& filter() const noexcept;  // the highest one
    ChannelFilter& lowestFilter() const noexcept;
    bool tryFlushThroughFilter() noexcept;
    bool outputEmpty() const noexcept;
    bool consumeEncoded(std::size_t bytes) noexcept;
    bool consumeEncodedSlow(std::size_t bytes) noexcept;
    void countEncoded() noexcept;
    void completeMoved(ChannelFilter& to);
    void afterFilterFlush() noexcept;
    void afterEncoding(std::uint64_t given) noexcept;
    void failOutputWrites(const std::exception_ptr& cause);
    void updateWritability() noexcept;
    void changeWritability(std::uint32_t set, std::uint32_t clear) noexcept;
    void addSubmitted(std::size_t bytes) noexcept;

    void read(Buffer&& bytes) noexcept;
    void completeRead() noexcept;
    void eof() noexcept;
    void fail(const std::exception_ptr& cause) noexcept;
    void readElsewhere(Buffer&& bytes, bool isLast) noexcept;
    void deliver(Buffer&& bytes) noexcept;
    void enterLastRead(Buffer&& bytes) noexcept;
    void completeCycle() noexcept;
    void completeCycleSlow() noexcept;
    void changeReadSize(std::size_t bytes) noexcept;
    // A read() permits one cycle. The sink is called only when wantRead() changes.
    void permitRead() noexcept {
        if (!reads_.wanted()) [[unlikely]]
            return startReading();
        reads_.permit();
    }
    void startReading() noexcept;
    void setWantRead(bool on) noexcept;
    void stopReading() noexcept;

    using ConfigChange = UniqueFunction<void(ChannelConfig&)>;
    ErrorCode changeConfig(ConfigChange change);
    void changeConfigNow(ConfigChange& change);
    ErrorCode setSocketOption(const char* name, SocketOption option, int value);
    ErrorCode setSocketOptionNow(const char* name, SocketOption option, int value);
    int socketOption(const char* name, SocketOption option) const;

    // The owner of the biased counts, whose thread counts references and pins without a read-modify-write: the loop's
    // carrier, which is detail::currentHome() on that thread.
    const void* home() const noexcept;
    void releaseOwnReference() noexcept;
    void pin() noexcept { pins_.retain(detail::currentHome()); }  // the pinner holds a reference already
    void unpin() noexcept;
    void freeRemovedHandlers() noexcept;

    using State = detail::ChannelState;
    using Count = detail::BasicBiasedCount<detail::NativeAtomics>;

    // The members that every event touches come first, in three cache lines.
    EventLoop& loop_;
    std::unique_ptr<ChannelSink> sink_;
    Count references_{1};  // any thread; biased to home() from registration to releaseOwnReference()

    State state_;  // any thread

    // The loop only.
    bool activeFired_ = false;
    bool listening_ = false;        // bound, and its sink listens
    bool closedHere_ = false;       // by an operation of this side, not by the peer or an error
    bool outputEndedHere_ = false;  // likewise
    bool tearDownDue_ = false;      // tearDown() runs at the next flush point
    bool connecting_ = false;
    unsigned depth_ = 0;  // pipeline entries on the stack
    detail::ReadCycle reads_;
    detail::ReadSize readSize_;
    std::optional<NonSuspendingScope> scope_;  // of the outermost entry, when a fiber opened it
    ChannelConfig config_;
    ChannelOutput output_;
    detail::SinkWrites writes_;
    detail::AnswerLedger* ledger_ = nullptr;

    // Any thread.
    Count pins_;  // fibers and posted operations that may use a removed context
    detail::Writability writability_;
    const std::uint64_t id_;

    // The loop only.
    std::exception_ptr closeCause_;
    std::unique_ptr<ScheduledTask> connectTimer_;  // null: not connecting, or no timeout
    FiberSet fibers_;
    detail::AttributeMap attributes_;
    ChannelPipeline pipeline_;
    detail::PromiseState closeState_;

    std::shared_ptr<EventLoop> keptLoop_;  // loop_, if a shared_ptr owns it: outlives the other members
};

}  // namespace weft
