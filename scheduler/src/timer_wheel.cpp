// The wheel is a radix sort spread over time. When a slot becomes due, its timers move to slots of lower levels, in
// order, until a slot holds a single timer or, on the lowest level, a single deadline. Timers therefore fire in the
// order of their deadlines without comparisons, and the work can stop after any step.
#include <weft/scheduler/timer_wheel.hpp>

#include <algorithm>
#include <bit>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/outstanding.hpp>

namespace weft {

TimerWheel::TimerWheel(TimePoint start, Due due) noexcept
    : start_(start), delay_(due == Due::atTick ? tickLength - 1 : 0) {}

TimerWheel::~TimerWheel() {
    WEFT_DEBUG_ASSERT(armed_ == 0, "a timer outlives its wheel");
    if (armed_ == 0) return;
    detail::outstanding.timers.fetch_add(static_cast<std::int64_t>(armed_), std::memory_order_relaxed);
}

void TimerWheel::arm(TimerEntry& entry, Deadline at) noexcept {
    WEFT_DEBUG_ASSERT(!entry.armed(), "the timer is armed already");
    entry.at = at;
    entry.key = keyOf(at);
    ++armed_;
    if (entry.key <= horizon_) {
        entry.level = TimerEntry::late;
        entry.slot = static_cast<std::uint8_t>(lateList_);
        append(late_[lateList_], entry);
        quietBefore_ = 0;
        return;
    }
    const Place place = placeOf(entry.key, isBeingEmptied(entry.key) ? emptying_ : levelOf(entry.key));
    link(place, entry);
    quietBefore_ = std::min(quietBefore_, place.begin);
}

void TimerWheel::disarm(TimerEntry& entry) noexcept {
    if (!entry.armed()) return;
    unlink(entry);
    entry.level = TimerEntry::unlinked;
    if (--armed_ == 0) settle();
}

// The last timer has been disarmed: resets the wheel.
void TimerWheel::settle() noexcept {
    elapsed_ = horizon_;
    quietBefore_ = noKey;
    emptying_ = 0;
    unfinished_ = false;
}

// ---- places ----

TimerWheel::Place TimerWheel::placeOf(std::uint64_t key, unsigned level) noexcept {
    const unsigned shift = shiftOf(level);
    const std::uint64_t position = key >> shift;
    return {level, static_cast<unsigned>(position) & ((1u << bitsOf(level)) - 1), position << shift};
}

// The level of the highest bit in which the key differs from the current time.
unsigned TimerWheel::levelOf(std::uint64_t key) const noexcept {
    const unsigned highest = static_cast<unsigned>(std::bit_width((elapsed_ ^ key) | 1)) - 1;
    return highest < lowestBits ? 0 : (highest - lowestBits) / slotBits + 1;
}

// True if the key belongs to the slot that is being emptied. Timers with the same deadline may still be in that slot,
// and a new timer must fire after them.
bool TimerWheel::isBeingEmptied(std::uint64_t key) const noexcept {
    return emptying_ != 0 && key >> shiftOf(emptying_) == elapsed_ >> shiftOf(emptying_);
}

void TimerWheel::link(const Place& place, TimerEntry& entry) noexcept {
    entry.level = static_cast<std::uint8_t>(place.level);
    entry.slot = static_cast<std::uint8_t>(place.slot);
    append(wheel_[place.level][place.slot], entry);
    occupied_[place.level] |= std::uint64_t{1} << place.slot;
    occupiedLevels_ |= 1u << place.level;
}

void TimerWheel::unlink(TimerEntry& entry) noexcept {
    if (entry.level == TimerEntry::late) return remove(late_[entry.slot], entry);
    Slot& slot = wheel_[entry.level][entry.slot];
    remove(slot, entry);
    if (slot.first != nullptr) return;
    occupied_[entry.level] &= ~(std::uint64_t{1} << entry.slot);
    if (occupied_[entry.level] == 0) occupiedLevels_ &= ~(1u << entry.level);
}

// Appends at the end. Timers with equal deadlines keep their order: they share every slot on the way down, and slots
// are emptied in order.
void TimerWheel::append(Slot& slot, TimerEntry& entry) noexcept {
    entry.previous = slot.last;
    entry.next = nullptr;
    (slot.last ? slot.last->next : slot.first) = &entry;
    slot.last = &entry;
}

void TimerWheel::remove(Slot& slot, TimerEntry& entry) noexcept {
    (entry.previous ? entry.previous->next : slot.first) = entry.next;
    (entry.next ? entry.next->previous : slot.last) = entry.previous;
}

// The earliest non-empty slot. It is in the lowest non-empty level, because every timer there is due before those of
// higher levels.
bool TimerWheel::firstPlace(Place& place) const noexcept {
    if (occupiedLevels_ == 0) return false;
    const auto level = static_cast<unsigned>(std::countr_zero(occupiedLevels_));
    const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    const unsigned above = shiftOf(level) + bitsOf(level);
    const std::uint64_t rotation = above < 64 ? elapsed_ >> above << above : 0;
    place = {level, slot, rotation + (std::uint64_t{slot} << shiftOf(level))};
    return true;
}

// ---- when ----

// The time at which a key that is not below `key` may be due: never later than that.
TimePoint TimerWheel::timeOf(std::uint64_t key) const noexcept {
    const std::uint64_t rounded = key & ~delay_;
    const std::uint64_t earliest = delay_ == 0 ? tickLength - 1 : 0;  // no deadline has a lower key
    const std::uint64_t after = rounded - std::min(rounded, earliest);
    const auto most = static_cast<std::uint64_t>(Duration::max().count());
    return deadlineAfter(start_, Duration(static_cast<Duration::rep>(std::min(after, most))));
}

Deadline TimerWheel::nextExpiry() const noexcept {
    if (unfinished_ || late_[lateList_].first != nullptr) return timeOf(horizon_ + 1 - tickLength);
    Place place;
    return firstPlace(place) ? timeOf(place.begin) : never;
}

Deadline TimerWheel::earliest() const noexcept {
    const Deadline at = earliestOf(late_[lateList_], never);
    Place place;
    return firstPlace(place) ? earliestOf(wheel_[place.level][place.slot], at) : at;
}

Deadline TimerWheel::earliestOf(const Slot& slot, Deadline at) noexcept {
    for (const TimerEntry* entry = slot.first; entry != nullptr; entry = entry->next) at = std::min(at, entry->at);
    return at;
}

// ---- expiry ----

// First finishes the previous call, up to its horizon; then fires the timers that are due before `bound`.
std::size_t TimerWheel::expireBefore(std::uint64_t bound, std::size_t steps) noexcept {
    std::size_t fired = 0;
    for (bool begun = false; unfinished_ || !begun;) {
        if (!unfinished_) {
            begun = unfinished_ = true;
            lateList_ ^= 1u;
            horizon_ = std::max(horizon_, bound - 1);
        }
        if (!fireLate(steps, fired) || !advance(steps, fired)) break;
        unfinished_ = false;
    }
    Place place;
    if (unfinished_ || late_[lateList_].first != nullptr) {
        quietBefore_ = 0;
    } else {
        quietBefore_ = firstPlace(place) ? place.begin : noKey;
    }
    return fired;
}

// Fires the timers that were armed late. False: out of steps, here and below.
bool TimerWheel::fireLate(std::size_t& steps, std::size_t& fired) noexcept {
    const Slot& list = late_[lateList_ ^ 1u];
    for (; list.first != nullptr; --steps, ++fired) {
        if (steps == 0) return false;
        fire(*list.first);
    }
    return true;
}

// Fires all timers up to the horizon.
bool TimerWheel::advance(std::size_t& steps, std::size_t& fired) noexcept {
    for (Place place; emptySlot(steps) && firstPlace(place) && place.begin <= horizon_;) {
        if (steps == 0) return false;
        elapsed_ = place.begin;
        const Slot& slot = wheel_[place.level][place.slot];
        const bool single = slot.first == slot.last && slot.first->key <= horizon_;
        if (place.level != 0 && !single) {
            emptying_ = place.level;
            continue;
        }
        --steps;
        ++fired;
        fire(*slot.first);
    }
    if (emptying_ != 0) return false;
    elapsed_ = horizon_;
    return true;
}

// Continues to empty the current slot, if there is one.
bool TimerWheel::emptySlot(std::size_t& steps) noexcept {
    if (emptying_ == 0) return true;
    const Slot& slot = wheel_[emptying_][placeOf(elapsed_, emptying_).slot];
    for (; TimerEntry* entry = slot.first; --steps) {
        if (steps == 0) return false;
        unlink(*entry);
        link(placeOf(entry->key, levelOf(entry->key)), *entry);
    }
    emptying_ = 0;
    return true;
}

void TimerWheel::fire(TimerEntry& entry) noexcept {
    disarm(entry);
    entry.fire(entry);
}

}  // namespace weft
