// Memory, the part that lets a load read what is stored later (MemoryRules::speculateLoads): the load makes a promise,
// a store of that value redeems it.
#include <algorithm>

#include "memory.hpp"

namespace weft::model {

// Values that other threads have stored here in executions without speculation. Fills promisable_.
unsigned Memory::listPromisable(unsigned thread, unsigned location, std::memory_order order) noexcept {
    promisable_.clear();
    if (sequential(order)) return 0;
    for (const Learned& learned : learned_) {
        if (learned.location != location || learned.writer == thread) continue;
        const bool listed = std::any_of(promisable_.begin(), promisable_.end(),
                                        [&](const Learned& other) { return other.value == learned.value; });
        if (!listed) promisable_.push_back(learned);
    }
    return static_cast<unsigned>(promisable_.size());
}

Value Memory::speculate(unsigned thread, unsigned location, const Learned& learned, std::memory_order order) {
    Store& store = insertAfter(location, locations_[location].stores.size() - 1);
    store.value = learned.value;
    store.writer = static_cast<std::uint8_t>(thread);
    store.promised = true;
    store.byAcquire = acquires(order);
    store.loadedAt = threads_[thread].current.clock[thread];
    ++openPromises_;
    noteRead(thread, location, locations_[location].stores.size() - 1, order);
    noteAccess(thread, location);
    return learned.value;
}

// Whether this store may be the one that the load has read in advance: it must not happen after the load.
bool Memory::redeems(unsigned thread, unsigned location, const Store& promise, Value value,
                     std::memory_order order) const noexcept {
    if (!promise.promised || promise.value != value || promise.writer == thread) return false;
    const ThreadView& view = threads_[thread];
    if (happenedBefore(promise.writer, promise.loadedAt, thread)) return false;
    if (readBound(view, location, order) >= promise.time) return false;
    const bool carries = releases(order) || view.released.clock[thread] != 0;
    const bool claimed = promise.byAcquire || threads_[promise.writer].acquireFenceAt > promise.loadedAt;
    return !(carries && claimed);
}

void Memory::redeem(unsigned thread, unsigned location, Store& promise, Value value, std::memory_order order) noexcept {
    promise.promised = false;
    --openPromises_;
    publish(thread, location, promise, value, order);
}

}  // namespace weft::model
