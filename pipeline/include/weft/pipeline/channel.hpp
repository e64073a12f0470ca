// Channel: one connection (or listener): its state, its pipeline, what waits to be written, and its transport behind
// door 2. It knows events and operations, never a descriptor. Made by transports and bootstraps, held by ChannelRef.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/channel_option.hpp>
#include <weft/pipeline/channel_pipeline.hpp>
#include <weft/pipeline/channel_promise.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/channel_sink.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/pipeline/outbound_buffer.hpp>
#include <weft/scheduler/detail/biased_count.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/fiber_set.hpp>
#include <weft/scheduler/non_suspending_scope.hpp>
#include <weft/scheduler/scheduled_task.hpp>
#include <weft/scheduler/unique_function.hpp>

namespace weft {

namespace detail {
class OutermostEntry;
class PipelineEntry;
class ChannelPin;
class PostedWrite;
}  // namespace detail

// Context: the operations, the state queries and isWritable(): any thread. Options: the loop, or the builder before
// registration; elsewhere setOption() becomes a task. Up-calls: the sink, on the loop. Operations never block; awaiting
// their futures does.
// Order of events, always: (handlerAdded*) registered, active, { read* readComplete }*, inactive, unregistered,
// (handlerRemoved*). (S-1..S-6)
class Channel final : private FlushPointListener {
  public:
    static constexpr std::size_t flushCap = 64 * 1024;  // flushed bytes that do not wait for the flush point (W-7)
    static constexpr std::size_t minReadBytes = 256;    // the first read is predicted at 2 KiB
    static constexpr std::size_t firstReadBytes = 2048;

    static ChannelRef create(EventLoop& loop);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    // ---- building; before registration, by the thread that builds the channel ----
    void attach(std::unique_ptr<ChannelSink> sink);
    // S-1: on the loop, attaches to the poller, calls the handlerAdded() of all handlers, completes the promise, fires
    // registered, and active if the channel is; then reads if AUTO_READ. A failure closes the channel and fails the
    // promise.
    void registerWithLoop(ChannelPromise promise);
    ChannelFuture registerWithLoop();
    // An accepted stream is active before it is registered.
    void setActive(bool active) noexcept { active ? note(Life::isActive) : unnote(Life::isActive); }

    // ---- state ----
    EventLoop& loop() const noexcept { return loop_; }
    // As loop(), but throws std::logic_error before registration. (TH-3)
    EventLoop& eventLoop() const;
    ChannelPipeline& pipeline() noexcept { return pipeline_; }
    ChannelSink* sink() const noexcept { return sink_.get(); }
    // Close has begun, or nothing is left to close.
    bool closed() const noexcept { return is(Life::isClosed); }
    bool open() const noexcept { return !closed(); }
    bool registered() const noexcept { return is(Life::isRegistered); }
    // Connected, or bound for a listener.
    bool active() const noexcept { return is(Life::isActive, Life::isClosed); }
    SocketAddress localAddress() const;   // context: the loop
    SocketAddress remoteAddress() const;  // context: the loop
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
    // The void promise (default) tells nobody; pass newPromise() to hear of the outcome.
    void write(Message&& message, ChannelPromise promise = {}) {
        pipeline_.write(std::move(message), std::move(promise));
    }
    void flush() { pipeline_.flush(); }
    void writeAndFlush(Message&& message, ChannelPromise promise = {}) {
        pipeline_.writeAndFlush(std::move(message), std::move(promise));
    }
    template <class T>
    requires detail::RefusedMessage<T&&> detail::NoFuture write(T&&, ChannelPromise = {}) {
        detail::refuseMessage<T>();
    }
    template <class T>
    requires detail::RefusedMessage<T&&> detail::NoFuture writeAndFlush(T&&, ChannelPromise = {}) {
        detail::refuseMessage<T>();
    }
    // Ends the output side, after what has been flushed is lost or written as the transport does; pending writes fail
    // with OutputShutdownException; OutputShutdownEvent is fired; reading continues. (HC-3)
    ChannelFuture shutdownOutput();
    void shutdownOutput(ChannelPromise promise);

    ChannelPromise newPromise() { return ChannelPromise(*this); }
    // Completes when the channel is closed; only the channel completes it. (C-7)
    ChannelFuture closeFuture() noexcept;

    // ---- writability ----
    // False while too many bytes are pending or a user bit is clear; advisory. (W-3, W-4, TH-4)
    bool isWritable() const noexcept { return unwritable_.load(std::memory_order_relaxed) == 0; }
    // How many more pending bytes make it unwritable; 0 when it is.
    std::size_t bytesBeforeUnwritable() const noexcept;
    // How many pending bytes must leave before it is writable; 0 when it is.
    std::size_t bytesBeforeWritable() const noexcept;
    std::size_t pendingBytes() const noexcept;
    // Bytes that the kernel has taken so far; to see whether a slow peer takes any. Context: the loop.
    std::uint64_t writtenBytes() const noexcept { return outbound_.writtenPosition(); }
    // One of 31 bits of the application, 1..31: the channel is writable only while all are true. (W-3)
    void setUserDefinedWritability(unsigned index, bool writable);

    // ---- options ----
    // Context: any thread. In the loop, and before registration in the thread that builds the channel, the option is
    // set at once, and the result is what the transport refused. From elsewhere the loop sets it, in the order of the
    // calls: the result is then {} (or operation_aborted when the loop has ended), and a refusal is only logged.
    // Options of the channel itself never fail.
    template <class T>
    ErrorCode setOption(const TypedChannelOption<T>& option, const std::type_identity_t<T>& value) {
        if constexpr (std::is_convertible_v<T, int>) {
            if (!option.field) return setSocketOption(option.name, option.socket, static_cast<int>(value));
        }
        changeConfig([field = option.field, value](ChannelConfig& config) { config.*field = value; });
        return {};
    }
    // Context: the loop, or before registration the builder; a socket option throws std::logic_error elsewhere, and
    // SystemError for what the transport refuses.
    template <class T>
    T option(const TypedChannelOption<T>& option) const {
        if constexpr (std::is_convertible_v<T, int>) {
            if (!option.field) return static_cast<T>(socketOption(option.name, option.socket));
        }
        return config_.*option.field;
    }
    const ChannelConfig& config() const noexcept { return config_; }

    // The running fibers that handlers spawned through their contexts; the close of the channel cancels them, behind
    // channelInactive. Context: the loop.
    FiberSet& fibers() noexcept { return fibers_; }

    // ---- up-calls from the sink; it may be closed during any of them and checks closed() afterwards ----
    // One channelRead(Buffer).
    void onRead(Buffer&& bytes) noexcept;
    // Listeners: one channelRead(ChannelRef) per accepted child, which is made but not yet registered.
    void onMessage(Message&& message) noexcept;
    // One per batch in which onRead or onMessage was called.
    void onReadComplete() noexcept;
    // onRead() and, unless that closed the channel, onReadComplete().
    void onLastRead(Buffer&& bytes) noexcept;
    // The peer ended its output. Ends the batch: the channel fires readComplete itself (HC-1); a following
    // onReadComplete() is ignored.
    void onEof() noexcept;
    // `bytes` of the outbound buffer are in the kernel.
    void onWritten(std::size_t bytes) noexcept;
    // After a full socket: the channel flushes again.
    void onWritable() noexcept;
    // A read error or reset closes the channel (E-6); an accept error does not close the listener (E-7).
    void onError(ErrorCode error) noexcept;
    // A write error closes the channel, or with AUTO_CLOSE off only its output. (E-8)
    void onWriteError(ErrorCode error) noexcept;
    // False: end this read cycle now. Asked after every onRead and onMessage.
    bool keepReading() const noexcept {
        return config_.autoRead && cycleMessages_ < config_.maxMessagesPerRead && !closed() && !inputShutdown_;
    }
    // How large a buffer the next read deserves, in bytes.
    std::size_t readBufferSize() const noexcept { return readBytes_; }

  private:
    friend class ChannelHandlerContext;
    friend class ChannelPipeline;
    friend class ChannelRef;
    friend class detail::HeadHandler;
    friend class detail::OutermostEntry;
    friend class detail::PipelineEntry;
    friend class detail::ChannelPin;
    friend class detail::PostedWrite;
    friend class detail::PromiseState;
    friend void detail::retainChannel(Channel&) noexcept;
    friend void detail::releaseChannel(Channel&) noexcept;

    explicit Channel(EventLoop& loop);
    ~Channel();

    // Life (channel_lifecycle.cpp).
    void registerNow(const ChannelPromise& promise);
    void failRegistration(const ChannelPromise& promise, std::exception_ptr cause);
    void becomeActive();
    void deregisterNow(ChannelPromise promise);
    void unregister();
    // Brings a fiber of the loop's carrier home that runs elsewhere.
    bool mayRunHere() const noexcept { return loop_.inEventLoop() || comesHome(); }
    bool comesHome() const noexcept;
    template <class F>
    void runInLoop(F&& operation);

    // What the head of the pipeline asks for (channel_operations.cpp, channel_write.cpp, channel_read.cpp).
    void headBind(const SocketAddress& local, ChannelPromise promise);
    void headConnect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise);
    void headClose(ChannelPromise promise);
    void headDeregister(ChannelPromise promise);
    void headRead();
    void headWrite(Message&& message, ChannelPromise&& promise);
    void refuseLate(Message&& message, const ChannelPromise& promise);
    void headFlush();
    std::size_t headWriteStraight(std::string_view bytes, const Buffer& storage) noexcept;

    void connected(const ChannelFuture& attempt, const ChannelPromise& promise);
    void startConnectTimer(const ChannelPromise& promise, const SocketAddress& remote);
    void stopConnectTimer() noexcept;

    // Closing (channel_close.cpp), in the order in which it happens.
    void beginClose(ChannelPromise promise, std::exception_ptr cause);
    void socketClosed(const ChannelPromise& promise);
    void endOutput(ChannelPromise promise);
    void closeBecauseOf(std::exception_ptr cause) noexcept;
    void failPendingWrites();
    void tearDownWithoutTask() noexcept;
    void tearDownAtFlushPoint() noexcept;
    void tearDown();
    std::exception_ptr closedException() const;

    void onFlushPoint() noexcept override;
    void flushNow() noexcept;
    void afterSinkFlush(std::uint64_t given) noexcept;
    void updateWritability() noexcept;
    void changeWritability(std::uint32_t set, std::uint32_t clear) noexcept;
    void addSubmitted(std::size_t bytes) noexcept;
    void subtractSubmitted(std::size_t bytes) noexcept;

    bool inCycle() const noexcept { return cycleMessages_ > 0; }
    void countMessage() noexcept;
    void deliver(Buffer&& bytes) noexcept;
    void enterLastRead(Buffer&& bytes) noexcept;
    void completeCycle() noexcept;
    void tellOfCycle() noexcept;
    void learnReadSize(std::size_t bytes) noexcept;
    void changeReadSize(std::size_t bytes) noexcept;
    void readIfAutoRead();
    void permitRead() noexcept;
    void startReading() noexcept;
    void setWantRead(bool on) noexcept;
    void stopReading() noexcept;

    using ConfigChange = UniqueFunction<void(ChannelConfig&)>;
    void changeConfig(ConfigChange change);
    void changeConfigNow(ConfigChange& change);
    bool mayUseSocketHere() const noexcept;
    ErrorCode setSocketOption(const char* name, SocketOption option, int value);
    ErrorCode setSocketOptionNow(const char* name, SocketOption option, int value);
    int socketOption(const char* name, SocketOption option) const;

    // Whose thread counts references and pins without a read-modify-write; it is detail::currentHome() there.
    const void* home() const noexcept;
    void letGoOfSelf() noexcept;
    void pin() noexcept { pins_.retain(detail::currentHome()); }  // the pinner holds a reference already
    void unpin() noexcept;
    void freeRemovedHandlers() noexcept;

    // What has become of the channel, in one word: a write asks for several of these at once. The builder and the loop
    // may note at the same time.
    struct Life {
        enum : std::uint8_t {
            wasRegistered = 1,  // noted by the builder: from then on the loop owns the rest
            isRegistered = 2,
            isActive = 4,  // noted by the builder, then the loop
            outputEnded = 8,
            isClosed = 16,
        };
    };
    // All of `wanted` and none of `unwanted` is so.
    bool is(unsigned wanted, unsigned unwanted = 0) const noexcept {
        return (life_.load(std::memory_order_acquire) & (wanted | unwanted)) == wanted;
    }
    void note(std::uint8_t what) noexcept { life_.fetch_or(what, std::memory_order_release); }
    void unnote(std::uint8_t what) noexcept {
        life_.fetch_and(static_cast<std::uint8_t>(~what), std::memory_order_release);
    }

    using Count = detail::BasicBiasedCount<detail::NativeAtomics>;

    // What every event touches comes first, in three cache lines.
    EventLoop& loop_;
    std::unique_ptr<ChannelSink> sink_;
    Count references_{1};  // its bias is the loop's own, from registration to the removal of the handlers; any thread

    // Any thread.
    std::atomic<std::uint8_t> life_{0};  // noted by the loop, but for what the builder notes

    // The loop only.
    unsigned depth_ = 0;          // pipeline entries on the stack
    unsigned cycleMessages_ = 0;  // of the running read cycle: onRead seen, readComplete not fired
    unsigned smallReads_ = 0;     // in a row
    std::size_t readBytes_ = firstReadBytes;
    std::size_t shrinkBelow_ = firstReadBytes / 4;  // what is a small read; 0 for the smallest buffer
    bool readPending_ = false;                      // a read() that no cycle has used yet
    bool wantsRead_ = false;                        // what the sink was told
    bool flushing_ = false;                         // inside sink_->flush()
    bool sendsLater_ = false;                       // the sink does, what it takes past the outbound buffer
    bool sinkFull_ = false;                         // the sink will say onWritable(), or report what it has taken
    bool consuming_ = false;  // inside outbound_.consume(): a close now fails the rest from a task (C-3)
    bool activeFired_ = false;
    bool listening_ = false;        // bound, and its sink listens
    bool closedHere_ = false;       // by an operation of this side, not by its peer or an error
    bool outputEndedHere_ = false;  // likewise
    bool tearDownDue_ = false;      // at the next flush point
    bool connecting_ = false;
    bool inputShutdown_ = false;
    bool inputShutdownReported_ = false;       // InputShutdownReadCompleteEvent has been fired
    std::optional<NonSuspendingScope> scope_;  // of the outermost entry, when a fiber made it
    ChannelConfig config_;
    OutboundBuffer outbound_;
    std::uint64_t givenPosition_ = 0;  // flushed position when the sink was last asked to flush

    // Any thread.
    Count pins_;                                // fibers and posted operations that may use a removed context
    std::atomic<std::uint32_t> unwritable_{0};  // bit 0: too many bytes; 1..31: the application's
    std::atomic<std::size_t> submitted_{0};     // bytes of writes that are on their way to the loop (TH-4)
    std::atomic<std::size_t> lowMark_{WriteBufferWaterMark::defaultLow};
    std::atomic<std::size_t> highMark_{WriteBufferWaterMark::defaultHigh};
    const std::uint64_t id_;

    // The loop only.
    std::exception_ptr closeCause_;
    ScheduledTask connectTimer_;
    FiberSet fibers_;
    ChannelPipeline pipeline_;
    detail::PromiseState closeState_;
};

}  // namespace weft
