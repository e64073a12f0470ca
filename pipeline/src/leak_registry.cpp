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

void LeakRegistry::given(Kind kind, const void* object, const HandlerPlace& place, std::size_t bytes) {
    const std::lock_guard held(lock_);
    seen_[kind][object] = {place, bytes};
}

void LeakRegistry::ended(Kind kind, const void* object) noexcept {
    const std::lock_guard held(lock_);
    seen_[kind].erase(object);
}

void LeakRegistry::messageMoved(const void* from, const void* to) noexcept {
    const std::lock_guard held(lock_);
    Sightings::node_type node = seen_[messages].extract(from);
    if (!node) return;
    seen_[messages].erase(to);
    node.key() = to;
    seen_[messages].insert(std::move(node));
}

void LeakRegistry::promiseEnded(const PromiseState* promise) noexcept {
    Sightings::node_type known;
    {
        const std::lock_guard held(lock_);
        known = seen_[promises].extract(promise);
    }
    if (!known || isDone(promise->status())) return;
    const HandlerPlace& place = known.mapped().place;
    log(LogLevel::warning, {"the promise of a write was destroyed while it was pending, so its listeners are never "
                            "called; it was last passed to handler ",
                            place.handler, " of channel ", std::to_string(place.channel),
                            ": pass it on with the last message that the write is encoded into, or complete it"});
}

std::vector<HeldByHandler> LeakRegistry::held(const std::uint64_t* channel) const {
    const std::lock_guard locked(lock_);
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
    for (const auto& [message, sighting] : seen_[messages]) {
        if (wanted(sighting)) ++at(sighting.place).messages;
    }
    for (const auto& [block, sighting] : seen_[buffers]) {
        if (!wanted(sighting)) continue;
        HeldByHandler& place = at(sighting.place);
        ++place.buffers;
        place.bufferBytes += sighting.bytes;
    }
    for (const auto& [promise, sighting] : seen_[promises]) {
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
        for (const HeldByHandler& left : held(&channel)) {
            const bool suspect = left.messages > 0 || left.promises > 0;
            log(suspect ? LogLevel::warning : LogLevel::info,
                {"a channel was closed and its handlers were removed, but these remain: ", describeHeld(left),
                 suspect ? ": release messages and complete promises in handlerRemoved() or in the handler's destructor"
                         : ""});
        }
    } catch (...) {
        log(LogLevel::warning, "out of memory while checking a closed channel for leaks");
    }
}

}  // namespace weft::detail
