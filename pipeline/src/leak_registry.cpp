#include "leak_registry.hpp"

#include <algorithm>

#include <weft/pipeline/detail/promise_state.hpp>
#include <weft/scheduler/log.hpp>

namespace weft::detail {

namespace {

std::string counted(std::size_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::string describeHeld(const HeldByHandler& held) {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (held.messages > 0) add(counted(held.messages, "message"));
    if (held.buffers > 0) add(counted(held.buffers, "buffer") + " of " + counted(held.bufferBytes, "byte"));
    if (held.promises > 0) add(counted(held.promises, "pending promise"));
    return text + ", last seen in handler " + held.handler + " of channel " + std::to_string(held.channel);
}

LeakRegistry& LeakRegistry::instance() {
    static LeakRegistry& registry = *new LeakRegistry;
    return registry;
}

void LeakRegistry::bufferGiven(const void* block, std::size_t bytes, const HandlerPlace& place) {
    const std::lock_guard held(lock_);
    buffers_[block] = {place, bytes};
}

void LeakRegistry::bufferEnded(const void* block) noexcept {
    const std::lock_guard held(lock_);
    buffers_.erase(block);
}

void LeakRegistry::messageKept(const void* message, const HandlerPlace& place) {
    const std::lock_guard held(lock_);
    messages_[message] = {place};
}

void LeakRegistry::messageMoved(const void* from, const void* to) noexcept {
    const std::lock_guard held(lock_);
    Sightings::node_type node = messages_.extract(from);
    if (!node) return;
    messages_.erase(to);
    node.key() = to;
    messages_.insert(std::move(node));
}

void LeakRegistry::messageEnded(const void* message) noexcept {
    const std::lock_guard held(lock_);
    messages_.erase(message);
}

void LeakRegistry::promiseGiven(const PromiseState* promise, const HandlerPlace& place) {
    const std::lock_guard held(lock_);
    promises_[promise] = {place};
}

void LeakRegistry::promiseTaken(const PromiseState* promise) noexcept {
    const std::lock_guard held(lock_);
    promises_.erase(promise);
}

void LeakRegistry::promiseEnded(const PromiseState* promise) noexcept {
    Sightings::node_type known;
    {
        const std::lock_guard held(lock_);
        known = promises_.extract(promise);
    }
    if (!known || isDone(promise->status())) return;
    const HandlerPlace& place = known.mapped().place;
    log(LogLevel::warning, {"the promise of a write was destroyed while it was pending, so its listeners are never "
                            "called; it was last passed to handler ",
                            place.handler, " of channel ", std::to_string(place.channel),
                            ": pass it on with the last message that the write is encoded into, or complete it"});
}

std::vector<HeldByHandler> LeakRegistry::held() const {
    const std::lock_guard held(lock_);
    return heldIf(nullptr);
}

std::vector<HeldByHandler> LeakRegistry::heldIf(const std::uint64_t* channel) const {
    std::vector<HeldByHandler> found;
    const auto at = [&found](const HandlerPlace& place) -> HeldByHandler& {
        const auto same = [&place](const HeldByHandler& held) {
            return held.channel == place.channel && held.handler == place.handler;
        };
        const auto known = std::find_if(found.begin(), found.end(), same);
        if (known != found.end()) return *known;
        return found.emplace_back(HeldByHandler{place.handler, place.channel, 0, 0, 0, 0});
    };
    const auto wanted = [channel](const Sighting& sighting) { return !channel || sighting.place.channel == *channel; };
    for (const auto& [message, sighting] : messages_) {
        if (wanted(sighting)) ++at(sighting.place).messages;
    }
    for (const auto& [block, sighting] : buffers_) {
        if (!wanted(sighting)) continue;
        HeldByHandler& place = at(sighting.place);
        ++place.buffers;
        place.bufferBytes += sighting.bytes;
    }
    for (const auto& [promise, sighting] : promises_) {
        // The promise is alive: its destructor takes the lock first.
        if (wanted(sighting) && !isDone(static_cast<const PromiseState*>(promise)->status()))
            ++at(sighting.place).promises;
    }
    std::sort(found.begin(), found.end(), [](const HeldByHandler& left, const HeldByHandler& right) {
        return left.channel != right.channel ? left.channel < right.channel : left.handler < right.handler;
    });
    return found;
}

void LeakRegistry::channelEnded(std::uint64_t channel) noexcept {
    try {
        std::vector<HeldByHandler> left;
        {
            const std::lock_guard held(lock_);
            left = heldIf(&channel);
        }
        for (const HeldByHandler& held : left) {
            const bool suspect = held.messages > 0 || held.promises > 0;
            log(suspect ? LogLevel::warning : LogLevel::info,
                {"a channel was closed and its handlers were removed, but these remain: ", describeHeld(held),
                 suspect ? ": release messages and complete promises in handlerRemoved() or in the handler's destructor"
                         : ""});
        }
    } catch (...) {
        log(LogLevel::warning, "out of memory while checking a closed channel for leaks");
    }
}

}  // namespace weft::detail
