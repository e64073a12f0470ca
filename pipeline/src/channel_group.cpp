#include <weft/pipeline/channel_group.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include <weft/pipeline/channel.hpp>
#include <weft/pipeline/channel_errors.hpp>
#include <weft/pipeline/detail/fallback_listener.hpp>

namespace weft {

namespace {

// Shared by the listeners of all futures of a group; the last one completes the promise.
struct Countdown {
    explicit Countdown(std::size_t count) : left(count) {}
    std::mutex lock;
    std::size_t left;  // guarded by lock
    Promise<void> all;

    void one() {
        {
            std::lock_guard held(lock);
            if (--left != 0) return;
        }
        all.setValue();
    }
};

// Counts one more than there are futures, so that it cannot complete while listeners are still being added.
Future<void> whenAll(const std::vector<ChannelFuture>& futures) {
    const auto countdown = std::make_shared<Countdown>(futures.size() + 1);
    Future<void> all = countdown->all.future();
    for (const ChannelFuture& future : futures) {
        future.addListener(detail::FallbackListener([countdown](const ChannelFuture&) { countdown->one(); },
                                                    [countdown] { countdown->one(); }));
    }
    countdown->one();
    return all;
}

}  // namespace

// ---- ChannelGroupFuture ----

ChannelGroupFuture::ChannelGroupFuture(std::vector<ChannelFuture> futures)
    : futures_(std::make_shared<const std::vector<ChannelFuture>>(std::move(futures))), all_(whenAll(*futures_)) {}

bool ChannelGroupFuture::success() const noexcept {
    return std::all_of(futures_->begin(), futures_->end(), [](const ChannelFuture& each) { return each.success(); });
}

bool ChannelGroupFuture::partialSuccess() const noexcept {
    const auto succeeded = [](const ChannelFuture& each) { return each.success(); };
    return done() && !success() && std::any_of(futures_->begin(), futures_->end(), succeeded);
}

std::vector<ChannelFuture> ChannelGroupFuture::failures() const {
    std::vector<ChannelFuture> failed;
    for (const ChannelFuture& each : *futures_) {
        if (each.done() && !each.success()) failed.push_back(each);
    }
    return failed;
}

const ChannelGroupFuture& ChannelGroupFuture::sync() const {
    await();
    const std::vector<ChannelFuture> failed = failures();
    if (failed.empty()) return *this;
    throw ChannelGroupException("failed for " + std::to_string(failed.size()) + " of " + std::to_string(size()) +
                                " channels; the first failure: " + describe(failed.front().cause()));
}

// ---- ChannelGroup ----

// Shared with the close listeners of its channels, which may run after the group has been destroyed.
struct ChannelGroup::Members {
    explicit Members(bool stays) : stayClosed(stays) {}

    // Releasing the last reference runs destructors of the application, so the lock is released first.
    bool remove(std::uint64_t id) {
        std::unique_lock held(lock);
        const auto gone = byId.extract(id);
        held.unlock();
        return !gone.empty();
    }

    const bool stayClosed;
    std::mutex lock;  // guards the members below
    std::map<std::uint64_t, ChannelRef> byId;
    bool closed = false;  // once set, stays set with stayClosed
};

ChannelGroup::ChannelGroup(bool stayClosed) : members_(std::make_shared<Members>(stayClosed)) {}

ChannelGroup::~ChannelGroup() {
    std::map<std::uint64_t, ChannelRef> left;
    std::lock_guard held(members_->lock);
    left.swap(members_->byId);
}

bool ChannelGroup::add(Channel& channel) {
    bool refused = false;
    {
        std::lock_guard held(members_->lock);
        if (!members_->byId.emplace(channel.id(), ChannelRef(channel)).second) return false;
        refused = members_->closed;
    }
    const auto leave = [weak = std::weak_ptr(members_), id = channel.id()] {
        if (const auto members = weak.lock()) members->remove(id);
    };
    channel.closeFuture().addListener(detail::FallbackListener([leave](const ChannelFuture&) { leave(); }, leave));
    if (refused) channel.close();
    return !channel.closed();
}

bool ChannelGroup::remove(Channel& channel) {
    return members_->remove(channel.id());
}

bool ChannelGroup::contains(const Channel& channel) const {
    return static_cast<bool>(find(channel.id()));
}

std::size_t ChannelGroup::size() const {
    std::lock_guard held(members_->lock);
    return members_->byId.size();
}

ChannelRef ChannelGroup::find(std::uint64_t id) const {
    std::lock_guard held(members_->lock);
    const auto found = members_->byId.find(id);
    return found == members_->byId.end() ? ChannelRef() : found->second;
}

std::vector<ChannelRef> ChannelGroup::channels() const {
    std::lock_guard held(members_->lock);
    std::vector<ChannelRef> all;
    all.reserve(members_->byId.size());
    for (const auto& [id, channel] : members_->byId) all.push_back(channel);
    return all;
}

std::vector<ChannelRef> ChannelGroup::chosen(const Matcher& matcher) const {
    std::vector<ChannelRef> all = channels();
    if (matcher) std::erase_if(all, [&](const ChannelRef& channel) { return !matcher(*channel); });
    return all;
}

ChannelGroupFuture ChannelGroup::send(const std::function<Message()>& make, const Matcher& matcher, bool flush) {
    std::vector<ChannelFuture> futures;
    for (const ChannelRef& channel : chosen(matcher)) {
        ChannelPromise written = channel->newPromise();
        futures.push_back(written.future());
        if (flush) {
            channel->writeAndFlush(make(), std::move(written));
        } else {
            channel->write(make(), std::move(written));
        }
    }
    return ChannelGroupFuture(std::move(futures));
}

void ChannelGroup::flush(const Matcher& matcher) {
    for (const ChannelRef& channel : chosen(matcher)) channel->flush();
}

ChannelGroupFuture ChannelGroup::close(const Matcher& matcher) {
    if (!matcher) {
        std::lock_guard held(members_->lock);
        members_->closed = members_->stayClosed;
    }
    std::vector<ChannelFuture> futures;
    for (const ChannelRef& channel : chosen(matcher)) futures.push_back(channel->close());
    return ChannelGroupFuture(std::move(futures));
}

ChannelGroupFuture ChannelGroup::disconnect(const Matcher& matcher) {
    std::vector<ChannelFuture> futures;
    for (const ChannelRef& channel : chosen(matcher)) futures.push_back(channel->disconnect());
    return ChannelGroupFuture(std::move(futures));
}

ChannelGroupFuture ChannelGroup::closeFuture(const Matcher& matcher) const {
    std::vector<ChannelFuture> futures;
    for (const ChannelRef& channel : chosen(matcher)) futures.push_back(channel->closeFuture());
    return ChannelGroupFuture(std::move(futures));
}

}  // namespace weft
