// ChannelGroup: a set of channels of any loops that is written to, flushed and closed as one. ChannelGroupFuture: the
// outcome of that, for each channel.
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

// From ChannelGroupFuture::sync(): at some channels it failed. what() counts them and quotes the first cause.
class ChannelGroupException : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Copyable. Context: any thread. Of no channels it is complete, and a success.
class ChannelGroupFuture {
  public:
    explicit ChannelGroupFuture(std::vector<ChannelFuture> futures);

    std::size_t size() const noexcept { return futures_->size(); }
    const std::vector<ChannelFuture>& futures() const noexcept { return *futures_; }
    bool done() const { return all_.done(); }
    bool success() const noexcept;         // done, and nowhere a failure
    bool partialSuccess() const noexcept;  // done, at some a success, at some a failure
    std::vector<ChannelFuture> failures() const;

    // Waits until every one is done. Blocks the fiber or thread; throws BlockingOperationException where nothing may
    // block, and always on a loop's own dispatch, which may have to do the work.
    const ChannelGroupFuture& await() const {
        all_.await();
        return *this;
    }
    bool awaitUntil(Deadline deadline) const { return all_.awaitUntil(deadline); }
    // As await(), then throws ChannelGroupException unless it was a success.
    const ChannelGroupFuture& sync() const;
    // Calls listener(const ChannelGroupFuture&) once: by the thread that completes the last one, or at once.
    template <class F>
    void addListener(F listener) const {
        all_.addListener(
            [self = *this, listener = std::move(listener)](const Future<void>&) mutable { listener(self); });
    }

  private:
    std::shared_ptr<const std::vector<ChannelFuture>> futures_;
    Future<void> all_;
};

// Not copyable. Context: any thread, for every member; never blocks; allocates. A channel leaves when it is closed; it
// may be in many groups. An operation reaches those that are members when it begins, each on its own loop; the outcome
// is told by the future. Operations of one caller keep their order at each channel.
class ChannelGroup {
  public:
    // Called for each member, by the thread that calls the operation: so with what any thread may ask of a channel. It
    // must not throw.
    using Matcher = std::function<bool(Channel&)>;

    // With `stayClosed` a close() of all is for ever: channels that are added later are closed at once.
    explicit ChannelGroup(bool stayClosed = false);
    ~ChannelGroup();
    ChannelGroup(const ChannelGroup&) = delete;
    ChannelGroup& operator=(const ChannelGroup&) = delete;

    // False: it is a member already, or closed.
    bool add(Channel& channel);
    // False: it was no member.
    bool remove(Channel& channel);
    bool contains(const Channel& channel) const;
    std::size_t size() const;
    bool empty() const { return size() == 0; }
    // In the order of their ids.
    std::vector<ChannelRef> channels() const;
    // By Channel::id(); null when it is no member.
    ChannelRef find(std::uint64_t id) const;

    // A message for each: of a Buffer the same bytes (share()), of any other type a copy.
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
    // Completes when those that are members now are closed.
    ChannelGroupFuture closeFuture(const Matcher& matcher = {}) const;

  private:
    struct Members;

    ChannelGroupFuture send(const std::function<Message()>& make, const Matcher& matcher, bool flush);
    std::vector<ChannelRef> chosen(const Matcher& matcher) const;

    const std::shared_ptr<Members> members_;
};

}  // namespace weft
