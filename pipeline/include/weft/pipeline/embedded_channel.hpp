// EmbeddedChannel: a channel without a transport, on a loop that is driven by hand, for tests of handlers. (Rule 2.17)
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/detail/pipeline_ends.hpp>
#include <weft/scheduler/event_loop.hpp>
#include <weft/scheduler/manual_clock.hpp>

namespace weft {

// Registered and active on construction. Messages that reach the tail go to the inbound queue; messages that reach the
// head and are flushed go to the outbound queue. Errors that reach the tail or fail a write are kept for
// checkException(). The clock moves only by advanceTimeBy(). Context: the thread that created it. Never blocks;
// allocates. The destructor closes the channel.
class EmbeddedChannel final : private detail::TailObserver {
  public:
    // `handlers` are what ChannelPipeline::addLast() takes.
    template <class... Handlers>
    explicit EmbeddedChannel(Handlers&&... handlers) : EmbeddedChannel(Unregistered{}) {
        (pipeline().addLast(std::forward<Handlers>(handlers)), ...);
        registerChannel();
    }
    ~EmbeddedChannel();

    Channel& channel() noexcept { return *channel_; }
    ChannelRef ref() const noexcept { return channel_; }
    ChannelPipeline& pipeline() noexcept { return channel_->pipeline(); }
    EventLoop& loop() noexcept { return loop_; }
    ManualClock& clock() noexcept { return clock_; }
    bool active() const noexcept { return channel_->active(); }

    // Fires one channelRead for each message, then channelReadComplete, then runs all tasks. True when the inbound
    // queue is not empty. Throws ClosedChannelException when closed, then what checkException() throws.
    template <class... Messages>
    bool writeInbound(Messages&&... messages) {
        ensureOpen();
        (channel_->onMessage(Message(std::forward<Messages>(messages))), ...);
        return endInbound();
    }
    // Writes each message, flushes, then runs all tasks. True when the outbound queue is not empty. Throws as
    // writeInbound().
    template <class... Messages>
    bool writeOutbound(Messages&&... messages) {
        ensureOpen();
        std::vector<ChannelPromise> promises;
        (promises.push_back(writeOne(Message(std::forward<Messages>(messages)))), ...);
        return endOutbound(promises);
    }

    // The oldest message of a queue, or an empty one.
    Message readInbound() { return pop(inbound_); }
    Message readOutbound() { return pop(outbound_); }
    // The oldest message, which must be a T; nothing when the queue is empty.
    template <class T>
    std::optional<T> readInbound() {
        return popAs<T>(inbound_);
    }
    template <class T>
    std::optional<T> readOutbound() {
        return popAs<T>(outbound_);
    }
    std::size_t inboundSize() const noexcept { return inbound_.size(); }
    std::size_t outboundSize() const noexcept { return outbound_.size(); }
    // Removes all Buffers at the front of the outbound queue and returns their bytes.
    std::string readOutboundText();

    // Runs everything that is due: tasks, timers, flush points. Returns how many tasks ran.
    std::size_t runPendingTasks() { return loop_.runTasks(); }
    void advanceTimeBy(Duration time);

    // Closes the channel, runs all tasks and calls checkException(). True when messages are left in a queue.
    bool finish();
    bool finishAndReleaseAll();
    ChannelFuture close();
    // Throws the first error that no handler took, once; later ones have been logged.
    void checkException();

  private:
    struct Unregistered {};
    class Sink;

    explicit EmbeddedChannel(Unregistered);
    void registerChannel();
    void ensureOpen() const;
    ChannelPromise writeOne(Message message);
    bool endInbound();
    bool endOutbound(const std::vector<ChannelPromise>& promises);
    void unhandledMessage(Message&& message) override { inbound_.push_back(std::move(message)); }
    void unhandledException(std::exception_ptr error) override;
    static Message pop(std::deque<Message>& queue);
    template <class T>
    static std::optional<T> popAs(std::deque<Message>& queue) {
        if (queue.empty()) return std::nullopt;
        return pop(queue).take<T>();
    }

    ManualClock clock_;
    EventLoop loop_{clock_};
    std::deque<Message> inbound_;
    std::deque<Message> outbound_;
    std::exception_ptr error_;
    ChannelRef channel_;
};

}  // namespace weft
