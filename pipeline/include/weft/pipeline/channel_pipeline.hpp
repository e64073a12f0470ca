// ChannelPipeline: the ordered list of a channel's handlers, head (transport side) to tail (application side).
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/pipeline/channel_handler.hpp>
#include <weft/pipeline/channel_handler_context.hpp>
#include <weft/pipeline/channel_output.hpp>
#include <weft/pipeline/detail/owning_context.hpp>
#include <weft/pipeline/detail/pipeline_ends.hpp>

namespace weft {

namespace detail {
class PipelineEntry;
}  // namespace detail

// Part of a Channel. Context: fireX and operations: any thread (off the loop: a task). Adding and removing: the loop,
// or before registration the thread that builds the channel; from other threads it becomes a task, and an error such as
// a duplicate name is logged instead of thrown. Look-ups: the loop, or before registration the building thread.
// Throws std::invalid_argument for a duplicate name, NoSuchElementException for a missing one. (H-1) After the end of
// the channel or of its loop, edits have no effect: a handler that is added is destroyed without a callback. (H-8)
class ChannelPipeline {
  public:
    explicit ChannelPipeline(Channel& channel);
    ~ChannelPipeline();
    ChannelPipeline(const ChannelPipeline&) = delete;
    ChannelPipeline& operator=(const ChannelPipeline&) = delete;

    Channel& channel() const noexcept { return channel_; }

    // addLast<H>(args...) constructs the handler in one allocation with its context and names it "H#n".
    // addLast<H>(named("x"), args...) gives it a name.
    template <class H, class... Args>
    ChannelPipeline& addLast(Args&&... args) {
        return insert(tail_, false, detail::makeContext<H>(channel_, std::forward<Args>(args)...));
    }
    template <class H, class... Args>
    ChannelPipeline& addFirst(Args&&... args) {
        return insert(head_, true, detail::makeContext<H>(channel_, std::forward<Args>(args)...));
    }
    template <class H, class... Args>
    ChannelPipeline& addBefore(std::string_view base, Args&&... args) {
        return insertBy(base, false, detail::makeContext<H>(channel_, std::forward<Args>(args)...));
    }
    template <class H, class... Args>
    ChannelPipeline& addAfter(std::string_view base, Args&&... args) {
        return insertBy(base, true, detail::makeContext<H>(channel_, std::forward<Args>(args)...));
    }

    // Add existing handlers: std::unique_ptr<H>, std::shared_ptr<H> of a sharable H, or a callable void(Channel&) (an
    // initializer, H-9). Several handlers keep their order, also in addFirst. The forms with a name take one handler.
    // Anything else (`new H`, an H by value) is a compile error that names the right call. The int keeps these
    // overloads out of calls with an explicit type.
    template <int = 0, class Handler, class... More>
    requires detail::GivenHandler<Handler> ChannelPipeline& addLast(Handler&& handler, More&&... more) {
        insert(tail_, false, detail::holdHandler(channel_, {}, std::forward<Handler>(handler)));
        if constexpr (sizeof...(More) > 0) addLast(std::forward<More>(more)...);
        return *this;
    }
    template <int = 0, class Handler, class... More>
    requires detail::GivenHandler<Handler> ChannelPipeline& addFirst(Handler&& handler, More&&... more) {
        if constexpr (sizeof...(More) > 0) addFirst(std::forward<More>(more)...);
        return insert(head_, true, detail::holdHandler(channel_, {}, std::forward<Handler>(handler)));
    }
    template <int = 0, class Handler>
    requires detail::GivenHandler<Handler> ChannelPipeline& addLast(std::string name, Handler&& handler) {
        return insert(tail_, false, detail::holdHandler(channel_, std::move(name), std::forward<Handler>(handler)));
    }
    template <int = 0, class Handler>
    requires detail::GivenHandler<Handler> ChannelPipeline& addFirst(std::string name, Handler&& handler) {
        return insert(head_, true, detail::holdHandler(channel_, std::move(name), std::forward<Handler>(handler)));
    }
    template <int = 0, class Handler>
    requires detail::GivenHandler<Handler> ChannelPipeline& addBefore(std::string_view base, std::string name,
                                                                      Handler&& handler) {
        return insertBy(base, false, detail::holdHandler(channel_, std::move(name), std::forward<Handler>(handler)));
    }
    template <int = 0, class Handler>
    requires detail::GivenHandler<Handler> ChannelPipeline& addAfter(std::string_view base, std::string name,
                                                                     Handler&& handler) {
        return insertBy(base, true, detail::holdHandler(channel_, std::move(name), std::forward<Handler>(handler)));
    }

    // Unlinks the handler, then calls its handlerRemoved(). It is destroyed once no callback of the channel and no
    // fiber of ctx.spawn() runs. (H-6)
    void remove(std::string_view name);
    void remove(const ChannelHandler& handler);
    template <class H>
    void remove() {
        removeOf(detail::handlerType<H>, detail::nameOf<H>());
    }
    // Replaces `old` by a new H: calls the new handler's handlerAdded(), then the old one's handlerRemoved(). Events
    // and operations that the old one still passes on go through the new one. (H-7)
    template <class H, class... Args>
    void replace(const ChannelHandler& old, Args&&... args) {
        replaceBy(old, detail::makeContext<H>(channel_, std::forward<Args>(args)...));
    }
    template <class H, class... Args>
    void replace(std::string_view old, Args&&... args) {
        replaceBy(old, detail::makeContext<H>(channel_, std::forward<Args>(args)...));
    }

    // The first handler that was added as exactly H, or null.
    template <class H>
    H* get() const noexcept {
        ChannelHandlerContext* found = contextOf(detail::handlerType<H>);
        return found ? static_cast<H*>(found->handler_) : nullptr;
    }
    ChannelHandler* get(std::string_view name) const noexcept {
        ChannelHandlerContext* found = contextNamed(name);
        return found ? found->handler_ : nullptr;
    }
    template <class H>
    ChannelHandlerContext* context() const noexcept {
        return contextOf(detail::handlerType<H>);
    }
    ChannelHandlerContext* context(std::string_view name) const noexcept { return contextNamed(name); }
    ChannelHandlerContext* context(const ChannelHandler& handler) const noexcept { return contextOf(handler); }
    // Names from head to tail, excluding these two.
    std::vector<std::string> names() const;
    bool empty() const noexcept { return head_.next_ == &tail_; }
    // `context` may be gone, or null: only its address is used.
    bool contains(const ChannelHandlerContext* context) const noexcept;
    // The name of the handler from which `taker`, which is in this pipeline, gets its writes; empty when no handler
    // after it handles writes. For logs.
    std::string lastWriterTo(const ChannelHandlerContext& taker) const;

    // Fire from the head. (P-2)
    void fireChannelRegistered() { head_.fireChannelRegistered(); }
    void fireChannelUnregistered() { head_.fireChannelUnregistered(); }
    void fireChannelActive();  // then reads, if AUTO_READ
    void fireChannelInactive() { head_.fireChannelInactive(); }
    void fireChannelRead(Message&& message) { head_.fireChannelRead(std::move(message)); }
    void fireChannelReadComplete();  // then reads, if AUTO_READ
    void fireUserEventTriggered(Message&& event) { head_.fireUserEventTriggered(std::move(event)); }
    void fireChannelWritabilityChanged() { head_.fireChannelWritabilityChanged(); }
    void fireExceptionCaught(std::exception_ptr cause) { head_.fireExceptionCaught(std::move(cause)); }

    // Operate from the tail. (P-2) See ChannelHandlerContext.
    ChannelFuture bind(const SocketAddress& local) { return tail_.bind(local); }
    ChannelFuture connect(const SocketAddress& remote) { return tail_.connect(remote); }
    ChannelFuture disconnect() { return tail_.disconnect(); }
    ChannelFuture close() { return tail_.close(); }
    ChannelFuture deregister() { return tail_.deregister(); }
    void bind(const SocketAddress& local, ChannelPromise promise) { tail_.bind(local, std::move(promise)); }
    void connect(const SocketAddress& remote, const SocketAddress* local, ChannelPromise promise) {
        tail_.connect(remote, local, std::move(promise));
    }
    void disconnect(ChannelPromise promise) { tail_.disconnect(std::move(promise)); }
    void close(ChannelPromise promise) { tail_.close(std::move(promise)); }
    void deregister(ChannelPromise promise) { tail_.deregister(std::move(promise)); }
    void read() { tail_.read(); }
    void write(Message&& message, ChannelPromise promise = {}) { tail_.write(std::move(message), std::move(promise)); }
    void flush() { tail_.flush(); }
    void writeAndFlush(Message&& message, ChannelPromise promise = {}) {
        tail_.writeAndFlush(std::move(message), std::move(promise));
    }

  private:
    friend class Channel;
    friend class ChannelHandlerContext;
    friend class EmbeddedChannel;
    friend class detail::EncoderCalls;
    friend class detail::PipelineEntry;
    friend class detail::TailHandler;

    using Context = ChannelHandlerContext;
    using OwnedContext = detail::OwnedContext;
    struct PendingCallback {
        Context* context;
        bool added;  // else removed
    };

    ChannelPipeline& insert(Context& base, bool after, OwnedContext context);
    ChannelPipeline& insertBy(std::string_view base, bool after, OwnedContext context);
    void insertNow(Context& base, bool after, OwnedContext owned);
    void giveName(Context& context, std::string given) const;
    void link(Context& context, Context& previous, Context& next) noexcept;
    void unlink(Context& context) noexcept;
    void callLater(Context& context, bool added);
    void callAdded(Context& context) noexcept;
    void callRemoved(Context& context) noexcept;
    void removeOf(const detail::HandlerType& type, std::string_view typeName);
    void removeNow(Context& context) noexcept;
    void replaceBy(const ChannelHandler& old, OwnedContext context);
    void replaceBy(std::string_view old, OwnedContext context);
    template <class Edit>
    void editInLoop(Edit edit);
    void replaceNow(Context& old, OwnedContext owned);

    Context* contextNamed(std::string_view name) const noexcept;
    Context* contextOf(const ChannelHandler& handler) const noexcept;
    Context* contextOf(const detail::HandlerType& type) const noexcept;
    static Context& require(Context* context, std::string_view what);

    // For Channel.
    void runPendingCallbacks() noexcept;  // those that waited for the registration (H-4)
    void removeAll() noexcept;            // from tail to head (H-8)
    void freeRemoved() noexcept;          // once nothing can be running in a removed handler
    bool hasRemoved() const noexcept { return removed_ != nullptr; }
    bool readsWatched() const noexcept { return readWatchers_ > 0; }
    void readIfAutoRead();
    bool isHead(const Context& context) const noexcept { return &context == &head_; }
    ChannelOutput& passedOutput();  // for encoders whose writes another handler sees
    // For messages that no handler can use (pipeline_types.cpp).
    void reportUnusableTypes() const;
    std::string lastReader() const;
    std::string lastWriter() const;
    void onWriteThrew(Context& thrower, std::exception_ptr cause) noexcept;  // with the void promise (E-3)

    Channel& channel_;
    Context* removed_ = nullptr;  // unlinked contexts in which a callback or a fiber may still run
    unsigned readWatchers_ = 0;   // added contexts that watch read cycles
    bool started_ = false;        // pending_ has run
    bool ended_ = false;          // removeAll() has begun: an added handler is destroyed at once
    detail::HeadHandler headHandler_;
    detail::TailHandler tailHandler_;
    detail::EndContext head_;
    detail::EndContext tail_;
    std::unique_ptr<std::vector<PendingCallback>> pending_;  // for the first registration; null: none
    Context* losing_ = nullptr;  // while exceptionCaught() handles what this one's write() threw
    detail::TailObserver* observer_ = nullptr;
    std::unique_ptr<ChannelOutput> passed_;  // null: not used yet
};

}  // namespace weft
