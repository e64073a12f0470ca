#include "memory.hpp"

#include <algorithm>

namespace weft::model {

namespace {

constexpr Time spacing = 32;          // between consecutive stores: room for some in between
constexpr unsigned mostOptions = 32;  // of one choice; a replay token has one digit per choice

enum Outcome : std::uint16_t { fails = 0, succeeds = 1 };  // of a compare-exchange, with the index of what it reads

}  // namespace

void Memory::begin(const MemoryRules& rules) {
    rules_ = rules;
    rules_.insertStores |= rules.speculateLoads;
    spuriousLeft_ = rules.spuriousFailures;
    used_ = 0;
    openPromises_ = 0;
    sequential_ = View{};
    for (unsigned i = 0; i < maxThreads; ++i) {
        threads_[i] = ThreadView{};
        threads_[i].current.clock[i] = 1;
    }
}

unsigned Memory::addLocation(unsigned thread, Value initial) {
    Location& location = locations_[used_];
    location.accessedAt = {};
    location.stores.clear();
    Store& store = location.stores.emplace_back();
    store.time = 1;
    threads_[thread].current.seen[used_] = store.time;
    store.value = initial;
    store.writer = static_cast<std::uint8_t>(thread);
    noteAccess(thread, used_);
    return used_++;
}

void Memory::fork(unsigned parent, unsigned child) {
    threads_[child].current.join(threads_[parent].current);
    ++threads_[parent].current.clock[parent];
}

void Memory::join(unsigned parent, unsigned child) {
    threads_[parent].current.join(threads_[child].current);
}

void Memory::release(unsigned thread, View& lock) noexcept {
    lock = threads_[thread].current;
    ++threads_[thread].current.clock[thread];
}

void Memory::acquire(unsigned thread, const View& lock) noexcept {
    threads_[thread].current.join(lock);
}

void Memory::noteAccess(unsigned thread, unsigned location) noexcept {
    locations_[location].accessedAt[thread] = threads_[thread].current.clock[thread]++;
}

bool Memory::quietFor(unsigned location, unsigned thread) const noexcept {
    for (unsigned i = 0; i < maxThreads; ++i) {
        if (!happenedBefore(i, locations_[location].accessedAt[i], thread)) return false;
    }
    return true;
}

const Store& Memory::newest(unsigned location) const noexcept {
    const auto& stores = locations_[location].stores;
    std::size_t index = stores.size() - 1;
    while (stores[index].promised) --index;
    return stores[index];
}

bool Memory::watchedHasChanged(unsigned thread) const noexcept {
    const ThreadView& view = threads_[thread];
    for (unsigned i = 0; i < used_; ++i) {
        if ((view.watched >> i & 1) && newest(i).time > view.lastRead[i]) return true;
    }
    return false;
}

void Memory::insistOnNewer(unsigned thread) noexcept {
    ThreadView& view = threads_[thread];
    for (unsigned i = 0; i < used_; ++i) {
        if (view.watched >> i & 1) view.repeats[i] = 255;
    }
}

// Coherence; and for a seq_cst access, what earlier seq_cst operations have read or stored there.
Time Memory::readBound(const ThreadView& view, unsigned location, std::memory_order order) const noexcept {
    const Time seen = view.current.seen[location];
    return sequential(order) ? std::max(seen, sequential_.seen[location]) : seen;
}

// Fills options_ with the stores that may be read, the newest first.
unsigned Memory::listReadable(unsigned thread, unsigned location, Time bound) noexcept {
    const ThreadView& view = threads_[thread];
    const auto& stores = locations_[location].stores;
    if (view.repeats[location] >= rules_.staleRepeats && newest(location).time > view.lastRead[location]) {
        bound = std::max<Time>(bound, view.lastRead[location] + 1);
    }
    unsigned count = 0;
    for (std::size_t i = stores.size(); i > 0 && stores[i - 1].time >= bound && count < mostOptions; --i) {
        if (stores[i - 1].promised && stores[i - 1].writer != thread) continue;
        options_[count++] = static_cast<std::uint16_t>(i - 1);
    }
    return count;
}

void Memory::claimView(ThreadView& view, const View& stored, std::memory_order order) noexcept {
    if (acquires(order)) {
        view.current.join(stored);
    } else {
        view.claimable.join(stored);
    }
}

void Memory::noteRead(unsigned thread, unsigned location, std::size_t index, std::memory_order order) noexcept {
    ThreadView& view = threads_[thread];
    auto& stores = locations_[location].stores;
    Store& store = stores[index];
    store.byAcquire |= store.promised && acquires(order);
    lastReadWasNewest_ = index + 1 == stores.size();
    const bool staleAgain = !lastReadWasNewest_ && view.lastRead[location] == store.time;
    view.repeats[location] = lastReadWasNewest_ ? 0 : staleAgain ? std::min(view.repeats[location] + 1, 254) : 1;
    view.lastRead[location] = store.time;
    view.watched |= std::uint64_t{1} << location;
    view.current.seen[location] = std::max(view.current.seen[location], store.time);
    if (sequential(order)) sequential_.seen[location] = std::max(sequential_.seen[location], store.time);
    claimView(view, store.view, order);
}

Value Memory::load(unsigned thread, unsigned location, std::memory_order order) {
    const unsigned readable = listReadable(thread, location, readBound(threads_[thread], location, order));
    const unsigned promisable = rules_.speculateLoads ? listPromisable(thread, location, order) : 0;
    const unsigned taken = choices_.pick(readable + promisable);
    if (taken >= readable) return speculate(thread, location, promisable_[taken - readable], order);
    noteRead(thread, location, options_[taken], order);
    noteAccess(thread, location);
    return locations_[location].stores[options_[taken]].value;
}

bool Memory::hasRoomAfter(const Location& location, std::size_t index) const noexcept {
    const auto& stores = location.stores;
    if (index + 1 == stores.size()) return true;
    return rules_.insertStores && !stores[index + 1].attached && stores[index + 1].time - stores[index].time > 1;
}

Store& Memory::insertAfter(unsigned location, std::size_t index) {
    auto& stores = locations_[location].stores;
    const Time before = stores[index].time;
    const bool last = index + 1 == stores.size();
    const Time time = last ? before + spacing : before + (stores[index + 1].time - before) / 2;
    Store& store = last ? stores.emplace_back() : *stores.emplace(stores.begin() + static_cast<long>(index) + 1);
    store.time = time;
    return store;
}

// Common to every store, whatever its place.
void Memory::publish(unsigned thread, unsigned location, Store& store, Value value, std::memory_order order) noexcept {
    ThreadView& view = threads_[thread];
    view.current.seen[location] = std::max(view.current.seen[location], store.time);
    if (sequential(order)) sequential_.seen[location] = std::max(sequential_.seen[location], store.time);
    store.value = value;
    store.writer = static_cast<std::uint8_t>(thread);
    store.view = releases(order) ? view.current : view.released;
    noteAccess(thread, location);
}

void Memory::write(unsigned thread, unsigned location, std::size_t after, Value value, std::memory_order order) {
    publish(thread, location, insertAfter(location, after), value, order);
    if (!learning_) return;
    const Learned learned{location, thread, value};
    if (std::find(learned_.begin(), learned_.end(), learned) == learned_.end()) learned_.push_back(learned);
}

void Memory::store(unsigned thread, unsigned location, Value value, std::memory_order order) {
    Location& place = locations_[location];
    auto& stores = place.stores;
    if (!rules_.insertStores) return write(thread, location, stores.size() - 1, value, order);

    const Time bound = readBound(threads_[thread], location, order);
    unsigned count = 0;
    for (std::size_t i = 0; openPromises_ != 0 && i < stores.size(); ++i) {
        if (redeems(thread, location, stores[i], value, order)) options_[count++] = static_cast<std::uint16_t>(i);
    }
    const unsigned redeemable = count;
    for (std::size_t i = stores.size(); i > 0 && stores[i - 1].time >= bound && count < mostOptions; --i) {
        if (hasRoomAfter(place, i - 1)) options_[count++] = static_cast<std::uint16_t>(i - 1);
    }
    const unsigned taken = choices_.pick(count);
    if (taken < redeemable) return redeem(thread, location, stores[options_[taken]], value, order);
    write(thread, location, options_[taken], value, order);
}

// An RMW reads the store right before its own: the newest, or an older one that has room after it.
Value Memory::beginUpdate(unsigned thread, unsigned location, std::memory_order order) {
    const Location& place = locations_[location];
    const Time bound = readBound(threads_[thread], location, order);
    unsigned count = 0;
    for (std::size_t i = place.stores.size(); i > 0 && place.stores[i - 1].time >= bound; --i) {
        if (place.stores[i - 1].promised || !hasRoomAfter(place, i - 1)) continue;
        if (count < mostOptions) options_[count++] = static_cast<std::uint16_t>(i - 1);
    }
    if (count == 0) {  // it has read a promise that follows all stores: no such execution exists
        ++openPromises_;
        options_[count++] = static_cast<std::uint16_t>(place.stores.size() - 1);
    }
    updateAfter_ = options_[choices_.pick(count)];
    return place.stores[updateAfter_].value;
}

void Memory::endUpdate(unsigned thread, unsigned location, Value value, std::memory_order order) {
    writeUpdate(thread, location, updateAfter_, value, order);
}

// Continues the release sequence of the store it reads: an acquire load of its own store joins that view too.
void Memory::writeUpdate(unsigned thread, unsigned location, std::size_t after, Value value, std::memory_order order) {
    noteRead(thread, location, after, order);
    const View sequence = locations_[location].stores[after].view;
    Store& store = insertAfter(location, after);
    store.attached = true;
    publish(thread, location, store, value, order);
    store.view.join(sequence);
}

bool Memory::compareExchange(unsigned thread, unsigned location, Value& expected, Value desired,
                             std::memory_order success, std::memory_order failure, bool weak) {
    const Location& place = locations_[location];
    const Time bound = readBound(threads_[thread], location, success);
    const unsigned readable = listReadable(thread, location, readBound(threads_[thread], location, failure));
    std::array<std::uint16_t, 2 * mostOptions> outcomes;
    unsigned count = 0;
    for (unsigned i = 0; i < readable; ++i) {
        const Store& store = place.stores[options_[i]];
        if (store.value != expected) {
            outcomes[count++] = static_cast<std::uint16_t>(options_[i] << 1 | fails);
        } else if (!store.promised && store.time >= bound && hasRoomAfter(place, options_[i])) {
            outcomes[count++] = static_cast<std::uint16_t>(options_[i] << 1 | succeeds);
        }
    }
    if (count == 0) {  // as in beginUpdate()
        ++openPromises_;
        outcomes[count++] = static_cast<std::uint16_t>(options_[0] << 1 | fails);
    }
    const unsigned honest = count;
    for (unsigned i = 0; weak && spuriousLeft_ > 0 && i < readable; ++i) {
        if (place.stores[options_[i]].value == expected)
            outcomes[count++] = static_cast<std::uint16_t>(options_[i] << 1);
    }
    const unsigned taken = choices_.pick(std::min(count, mostOptions));
    const std::size_t index = outcomes[taken] >> 1;
    if (outcomes[taken] & succeeds) {
        writeUpdate(thread, location, index, desired, success);
        return true;
    }
    if (taken >= honest) --spuriousLeft_;
    noteRead(thread, location, index, failure);
    noteAccess(thread, location);
    expected = place.stores[index].value;
    return false;
}

void Memory::fence(unsigned thread, std::memory_order order) {
    ThreadView& view = threads_[thread];
    if (acquires(order)) {
        view.current.join(view.claimable);
        view.acquireFenceAt = view.current.clock[thread];
    }
    if (sequential(order)) {
        // In the order of all seq_cst operations, later ones see what this thread has seen, and the reverse. This does
        // not synchronize, so the clocks are left out.
        view.current.joinSeen(sequential_);
        sequential_.joinSeen(view.current);
    }
    if (releases(order)) view.released = view.current;
    ++view.current.clock[thread];
}

}  // namespace weft::model
