// ChannelGroup: a set of channels, of any loops, that is written to, flushed and closed as one. ChannelGroupFuture: the
// outcome at each channel.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <weft/pipeline/buffer.hpp>
#include <weft/pipeline/channel_future.hpp>
#include <weft/pipeline/channel_ref.hpp>
#include <weft/pipeline/message.hpp>
#include <weft/scheduler/future.hpp>

namespace weft {

// Thrown by ChannelGroupFuture::sync() when the operation failed at some channels. what() counts them and quotes the
// first cause.
class ChannelGroupException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Copyable. Context: any thread. For no channels it is done and a success.
class ChannelGroupFuture {
  public:
    explicit ChannelGroupFuture(std::vector<ChannelFuture> futures);

    std::size_t size() const noexcept { return futures_->size(); }
    const std::vector<ChannelFuture>& futures() const noexcept { return *futures_; }
    bool done() const { return all_.done(); }
    bool success() const noexcept;         // done, without a failure
    bool partialSuccess() const noexcept;  // done, with successes and failures
    std::vector<ChannelFuture> failures() const;

    // Waits until the operation is done at every channel: parks the fiber or blocks the thread. Unless it is done
    // already, throws BlockingOperationException where blocking is forbidden, such as in the dispatch of any loop.
    const ChannelGroupFuture& await() const {
        all_.await();
        return *this;
    }
    bool awaitUntil(Deadline deadline) const { return all_.awaitUntil(deadline); }
    // As await(), then throws ChannelGroupException unless it was a success.
    const ChannelGroupFuture& sync() const;
    // Calls listener(const ChannelGroupFuture&) once: on the thread that completes the last operation, or at once when
    // all are done.
    template <class F>
    void addListener(F listener) const {
        all_.addListener(
            [self = *this, listener = std::move(listener)](const Future<void>&) mutable { listener(self); });
    }

  private:
    std::shared_ptr<const std::vector<ChannelFuture>> futures_;
    Future<void> all_;
};

// Not copyable. Context: any thread. Never blocks; allocates. A channel leaves the group when it is closed, and may be
// in many groups. An operation applies to the channels that are members when it begins, each on its own loop; the
// future reports the outcome. Operations of one caller keep their order at each channel.
class ChannelGroup {
  public:
    // Called for each member on the thread that calls the operation, so it may only use what any thread may call on a
    // channel. It must not throw.
    using Matcher = std::function<bool(Channel&)>;

    // With `stayClosed`, a close() without a matcher also closes every channel that is added later.
    explicit ChannelGroup(bool stayClosed = false);
    ~ChannelGroup();
    ChannelGroup(const ChannelGroup&) = delete;
    ChannelGroup& operator=(const ChannelGroup&) = delete;

    // Returns false when the channel is a member already, or closed.
    bool add(Channel& channel);
    // Returns false when the channel was not a member.
    bool remove(Channel& channel);
    bool contains(const Channel& channel) const;
    std::size_t size() const;
    bool empty() const { return size() == 0; }
    // In the order of their ids.
    std::vector<ChannelRef> channels() const;
    // The member with this Channel::id(), or null.
    ChannelRef find(std::uint64_t id) const;

    // Write the message to each member: the members share the bytes of a Buffer, and get copies of any other type.
    ChannelGroupFuture write(const Buffer& message, const Matcher& matcher = {}) {
        return send([&] { return Message(message.share()); }, matcher, false);
    }
    ChannelGroupFuture writeAndFlush(const Buffer& message, const Matcher& matcher = {}) {
        return send([&] { return Message(message.share()); }, matcher, true);
    }
    template <std::copy_constructible T>
    ChannelGroupFuture write(const T& message, const Matcher& matcher = {}) {
        return send([&] { return Message(T(message)); }, matcher, false);
    }
    template <std::copy_constructible T>
    ChannelGroupFuture writeAndFlush(const T& message, const Matcher& matcher = {}) {
        return send([&] { return Message(T(message)); }, matcher, true);
    }
    void flush(const Matcher& matcher = {});
    ChannelGroupFuture close(const Matcher& matcher = {});
    ChannelGroupFuture disconnect(const Matcher& matcher = {});
    // Completes when all channels that are members now are closed.
    ChannelGroupFuture closeFuture(const Matcher& matcher = {}) const;

  private:
    struct Members;

    ChannelGroupFuture send(const std::function<Message()>& make, const Matcher& matcher, bool flush);
    std::vector<ChannelRef> chosen(const Matcher& matcher) const;

    const std::shared_ptr<Members> members_;
};

}  // namespace weft
