#include <weft/scheduler/timer_wheel.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include <weft/scheduler/assert.hpp>
#include <weft/scheduler/detail/outstanding.hpp>

namespace weft {

namespace {
constexpr std::uint64_t range = std::uint64_t{1} << 42;  // ticks that the wheel spans: 64^7
}  // namespace

TimerWheel::TimerWheel(TimePoint start) noexcept : start_(start) {}

TimerWheel::~TimerWheel() {
    WEFT_DEBUG_ASSERT(armed_ == 0, "a timer outlives its wheel");
    if (armed_ == 0) return;
    detail::outstanding.timers.fetch_add(static_cast<std::int64_t>(armed_), std::memory_order_relaxed);
}

// Rounded up, so that no timer fires early.
std::uint64_t TimerWheel::tickAtOrAfter(Deadline at) const noexcept {
    if (at <= start_) return 0;
    const auto nanoseconds = static_cast<std::uint64_t>((at - start_).count());
    return (nanoseconds >> tickShift) + ((nanoseconds & ((1u << tickShift) - 1)) != 0);
}

void TimerWheel::arm(TimerEntry& entry, Deadline at) noexcept {
    WEFT_DEBUG_ASSERT(!entry.armed(), "the timer is armed already");
    entry.at = at;
    entry.tick = tickAtOrAfter(at);
    ++armed_;
    place(entry);
}

void TimerWheel::disarm(TimerEntry& entry) noexcept {
    if (!entry.armed()) return;
    if (entry.level == TimerEntry::due) {
        unlink(due_, entry);
    } else if (entry.level == TimerEntry::firing) {
        unlink(firing_, entry);
    } else {
        Slot& slot = wheel_[entry.level][entry.slot];
        unlink(slot, entry);
        if (slot.first == nullptr) occupied_[entry.level] &= ~(std::uint64_t{1} << entry.slot);
    }
    entry.level = TimerEntry::unlinked;
    --armed_;
}

// The level is where the deadline's tick first differs from the present one; the slot are that level's bits of it.
void TimerWheel::place(TimerEntry& entry) noexcept {
    if (entry.tick <= elapsed_) {
        entry.level = TimerEntry::due;
        quietBefore_ = 0;
        link(due_, entry);
        return;
    }
    // Further than the wheel spans: as far as it goes, to be placed again from there.
    const std::uint64_t target = std::min(entry.tick, (elapsed_ | (range - 1)));
    const unsigned highest = static_cast<unsigned>(std::bit_width((elapsed_ ^ target) | (slots - 1))) - 1;
    const unsigned level = std::min(levels - 1, highest / slotBits);
    const unsigned slot = static_cast<unsigned>(target >> (slotBits * level)) & (slots - 1);
    entry.level = static_cast<std::uint8_t>(level);
    entry.slot = static_cast<std::uint8_t>(slot);
    link(wheel_[level][slot], entry);
    occupied_[level] |= std::uint64_t{1} << slot;
    quietBefore_ = std::min(quietBefore_, target >> (slotBits * level) << (slotBits * level));
}

// At the end. Equal deadlines keep their order: they share every slot on their way down, and a slot is emptied in
// order.
void TimerWheel::link(Slot& slot, TimerEntry& entry) noexcept {
    entry.previous = slot.last;
    entry.next = nullptr;
    (slot.last ? slot.last->next : slot.first) = &entry;
    slot.last = &entry;
}

void TimerWheel::unlink(Slot& slot, TimerEntry& entry) noexcept {
    (entry.previous ? entry.previous->next : slot.first) = entry.next;
    (entry.next ? entry.next->previous : slot.last) = entry.previous;
}

// The lowest level that is not empty holds the earliest slot: everything in it is due before any higher level's slot.
bool TimerWheel::nextExpiration(Expiration& next) const noexcept {
    for (unsigned level = 0; level < levels; ++level) {
        if (occupied_[level] == 0) continue;
        const unsigned shift = slotBits * level;
        const unsigned now = static_cast<unsigned>(elapsed_ >> shift) & (slots - 1);
        const unsigned ahead =
            static_cast<unsigned>(std::countr_zero(std::rotr(occupied_[level], static_cast<int>(now))));
        const unsigned slot = (now + ahead) & (slots - 1);
        const std::uint64_t rotation = std::uint64_t{1} << (shift + slotBits);
        next = {level, slot, (elapsed_ & ~(rotation - 1)) + (static_cast<std::uint64_t>(slot) << shift)};
        return true;
    }
    return false;
}

Deadline TimerWheel::nextExpiry() const noexcept {
    if (due_.first != nullptr) return start_ + Duration(elapsed_ << tickShift);
    Expiration next;
    if (!nextExpiration(next)) return never;
    return start_ + Duration(static_cast<Duration::rep>(next.tick << tickShift));
}

Deadline TimerWheel::earliest() const noexcept {
    Expiration next;
    const TimerEntry* entry = due_.first;
    if (entry == nullptr && nextExpiration(next)) entry = wheel_[next.level][next.slot].first;
    Deadline at = never;
    for (; entry != nullptr; entry = entry->next) at = std::min(at, entry->at);
    return at;
}

std::size_t TimerWheel::expireUpTo(std::uint64_t nowTick) noexcept {
    Expiration next;
    bool found = nextExpiration(next);
    for (; found && next.tick <= nowTick; found = nextExpiration(next)) process(next);
    quietBefore_ = found ? next.tick : noTick;
    elapsed_ = std::max(elapsed_, nowTick);

    // Entries armed by a Fire for the past go to due_ and wait for the next call.
    takeDue();
    std::size_t fired = 0;
    while (firing_.first != nullptr) {
        TimerEntry& entry = *firing_.first;
        disarm(entry);
        ++fired;
        entry.fire(entry);
    }
    return fired;
}

void TimerWheel::takeDue() noexcept {
    sort(due_);
    while (due_.first != nullptr) {
        TimerEntry& entry = *due_.first;
        unlink(due_, entry);
        entry.level = TimerEntry::firing;
        link(firing_, entry);
    }
}

bool TimerWheel::inOrder(const Slot& list) noexcept {
    for (const TimerEntry* entry = list.first; entry != list.last; entry = entry->next) {
        if (entry->next->at < entry->at) return false;
    }
    return true;
}

// A stable merge sort by deadline, bottom up, in place.
void TimerWheel::sort(Slot& list) noexcept {
    if (inOrder(list)) return;
    for (std::size_t width = 1, merges = 2; merges > 1; width *= 2) {
        Slot rest = std::exchange(list, Slot());
        for (merges = 0; rest.first != nullptr; ++merges) {
            Slot left = cutRun(rest, width);
            Slot right = cutRun(rest, width);
            while (left.first != nullptr || right.first != nullptr) {
                const bool fromRight =
                    left.first == nullptr || (right.first != nullptr && right.first->at < left.first->at);
                Slot& from = fromRight ? right : left;
                TimerEntry& entry = *from.first;
                unlink(from, entry);
                link(list, entry);
            }
        }
    }
}

// Takes up to `length` entries from the front.
TimerWheel::Slot TimerWheel::cutRun(Slot& list, std::size_t length) noexcept {
    Slot run;
    while (length-- > 0 && list.first != nullptr) {
        TimerEntry& entry = *list.first;
        unlink(list, entry);
        link(run, entry);
    }
    return run;
}

// Empties one slot: what is due now goes to due_, the rest to a lower level.
void TimerWheel::process(const Expiration& slotDue) noexcept {
    elapsed_ = std::max(elapsed_, slotDue.tick);
    Slot taken = std::exchange(wheel_[slotDue.level][slotDue.slot], Slot());
    occupied_[slotDue.level] &= ~(std::uint64_t{1} << slotDue.slot);
    for (TimerEntry* entry = taken.first; entry != nullptr;) {
        TimerEntry* next = entry->next;
        place(*entry);
        entry = next;
    }
}

}  // namespace weft
