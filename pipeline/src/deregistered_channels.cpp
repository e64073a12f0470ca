#include <weft/pipeline/detail/deregistered_channels.hpp>

#include <mutex>
#include <set>
#include <utility>

#include <weft/pipeline/channel.hpp>

namespace weft::detail {

namespace {

struct List {
    std::mutex lock;
    std::set<std::pair<const EventLoop*, Channel*>> channels;  // guarded by `lock`, like the end of each of them [B5]
};

// Never destroyed, because channels may end while the process exits.
List& list() {
    static List& all = *new List;
    return all;
}

}  // namespace

void DeregisteredChannels::add(Channel& channel) {
    {
        const std::lock_guard held(list().lock);
        list().channels.emplace(&channel.loop_, &channel);
    }
    channel.state_.set(ChannelState::isDeregistered);
}

void DeregisteredChannels::remove(Channel& channel) noexcept {
    channel.state_.clear(ChannelState::isDeregistered);
    const std::lock_guard held(list().lock);
    list().channels.erase({&channel.loop_, &channel});
}

// A channel whose last reference is gone is left to the thread that released it, which waits for the lock.
ChannelRef DeregisteredChannels::takeOne(const EventLoop& loop) noexcept {
    const std::lock_guard held(list().lock);
    auto& channels = list().channels;
    for (auto at = channels.lower_bound({&loop, nullptr}); at != channels.end() && at->first == &loop; ++at) {
        Channel& channel = *at->second;
        if (!channel.references_.retainUnlessZero()) continue;
        channels.erase(at);
        return ChannelRef::adopt(&channel);
    }
    return {};
}

void DeregisteredChannels::closeAllOf(const EventLoop& loop) noexcept {
    while (const ChannelRef channel = takeOne(loop)) channel->close(ChannelPromise());
}

}  // namespace weft::detail
