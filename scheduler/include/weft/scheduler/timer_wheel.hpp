// TimerWheel: the hierarchical timer wheel that a carrier (or an embedded loop) owns. It never reads a clock.
// Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987), with xor levels and occupancy bitmaps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <weft/scheduler/deadline.hpp>

namespace weft {

class TimerWheel;

// One timer, linked into at most one wheel; lives wherever its owner puts it (often on a fiber's stack).
// The owner disarms it before it dies.
struct TimerEntry {
    using Fire = void (*)(TimerEntry&) noexcept;

    explicit TimerEntry(Fire fire) noexcept : fire(fire) {}
    TimerEntry(const TimerEntry&) = delete;
    TimerEntry& operator=(const TimerEntry&) = delete;

    Fire fire;  // called with the entry already disarmed, so it may re-arm or destroy it
    bool armed() const noexcept { return level != unlinked; }
    Deadline deadline() const noexcept { return at; }

  private:
    friend class TimerWheel;
    static constexpr std::uint8_t unlinked = 0xff;
    static constexpr std::uint8_t late = 0xfe;  // slot: which of the two lists

    TimerEntry* previous = nullptr;
    TimerEntry* next = nullptr;
    Deadline at{};
    std::uint64_t key = 0;
    std::uint8_t level = unlinked;
    std::uint8_t slot = 0;
};

// Timers that fire in ticks of 2^16 ns (about 65 us): never early, and at most one tick late by the wheel's doing.
// Within a tick they fire in the order of their deadlines, equal ones in the order of arming. Insertion and removal are
// O(1). Each timer is moved at most once per level on its way down, which is what sorts them: no step of the wheel takes
// longer the more timers are armed or due. Context: its owner's thread. Never blocks, allocates or throws.
class TimerWheel {
  public:
    static constexpr unsigned tickShift = 16;
    static constexpr Duration tick{1 << tickShift};
    static constexpr std::size_t allSteps = ~std::size_t{0};

    explicit TimerWheel(TimePoint start) noexcept;
    ~TimerWheel();
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    // Arms an unarmed entry. One whose deadline has passed already is late: it fires with the next expire().
    void arm(TimerEntry& entry, Deadline at) noexcept;
    // Unlinks an armed entry; does nothing to an unarmed one.
    void disarm(TimerEntry& entry) noexcept;
    // Fires what is due at `now`; returns how many. First the timers that were armed late, in the order of arming, then
    // the others in the order of their deadlines. Entries that a Fire arms late wait for the next call. A clock that
    // steps back counts as standing still.
    // It takes at most `steps` steps, of which each fires a timer or moves one down a level; unfinished() says whether
    // that left something due to the next call, which goes on where this one has stopped.
    std::size_t expire(TimePoint now, std::size_t steps = allSteps) noexcept {
        const std::uint64_t bound = dueBefore(now);
        if (bound > quietBefore_) [[unlikely]]
            return expireBefore(bound, steps);
        passTo(bound);
        return 0;
    }
    // The last expire() has run out of steps: timers that were due then have not fired yet.
    bool unfinished() const noexcept { return unfinished_; }

    // When expire() has something to do next: exact for the earliest timers, early (never late) for far ones; `never`
    // when nothing is armed.
    Deadline nextExpiry() const noexcept;
    // The earliest deadline, exactly; looks at every timer of one slot. Not while unfinished().
    Deadline earliest() const noexcept;
    // Tells an empty wheel what time it is, so that nextExpiry() is not in the past for timers armed after a long idle
    // time.
    void catchUp(TimePoint now) noexcept {
        if (armed_ == 0) passTo(dueBefore(now));
    }
    bool empty() const noexcept { return armed_ == 0; }
    std::size_t size() const noexcept { return armed_; }

  private:
    // A key is a deadline in ns since one tick before the start, less 1: what is due at a point in time are the keys
    // before that point rounded down to a tick. Level 0 has a slot per ns and 16 of them; each of the others has 64
    // slots, of which each is as long as the level below. Levels 0 to 2 are within a tick: only what is due gets there.
    static constexpr unsigned levels = 11;
    static constexpr unsigned slotBits = 6;
    static constexpr unsigned slots = 1u << slotBits;
    static constexpr unsigned lowestBits = 4;
    static constexpr std::uint64_t tickLength = std::uint64_t{1} << tickShift;
    static constexpr std::uint64_t noKey = ~std::uint64_t{0};

    struct Slot {
        TimerEntry* first = nullptr;
        TimerEntry* last = nullptr;
    };
    struct Place {
        unsigned level;
        unsigned slot;
        std::uint64_t begin;  // the first key of the slot
    };

    static constexpr unsigned shiftOf(unsigned level) noexcept {
        return level == 0 ? 0 : lowestBits + slotBits * (level - 1);
    }
    static constexpr unsigned bitsOf(unsigned level) noexcept { return level == 0 ? lowestBits : slotBits; }
    static Place placeOf(std::uint64_t key, unsigned level) noexcept;

    // The first key that is not due at `now`.
    std::uint64_t dueBefore(TimePoint now) const noexcept {
        if (now <= start_) return tickLength;
        return (static_cast<std::uint64_t>((now - start_).count()) & ~(tickLength - 1)) + tickLength;
    }
    std::uint64_t keyOf(Deadline at) const noexcept {
        return at <= start_ ? tickLength - 1 : static_cast<std::uint64_t>((at - start_).count()) + (tickLength - 1);
    }
    TimePoint timeOf(std::uint64_t bound) const noexcept;
    // Nothing is due before `bound`.
    void passTo(std::uint64_t bound) noexcept { elapsed_ = horizon_ = std::max(horizon_, bound - 1); }

    void link(const Place& place, TimerEntry& entry) noexcept;
    void unlink(TimerEntry& entry) noexcept;
    static void append(Slot& slot, TimerEntry& entry) noexcept;
    static void remove(Slot& slot, TimerEntry& entry) noexcept;
    unsigned levelOf(std::uint64_t key) const noexcept;
    bool isBeingEmptied(std::uint64_t key) const noexcept;
    bool firstPlace(Place& place) const noexcept;
    std::size_t expireBefore(std::uint64_t bound, std::size_t steps) noexcept;
    bool fireLate(std::size_t& steps, std::size_t& fired) noexcept;
    bool advance(std::size_t& steps, std::size_t& fired) noexcept;
    bool emptySlot(std::size_t& steps) noexcept;
    void fire(TimerEntry& entry) noexcept;
    void settle() noexcept;
    static Deadline earliestOf(const Slot& slot, Deadline at) noexcept;

    const TimePoint start_;
    std::uint64_t elapsed_ = tickLength - 1;  // where the slot begins that expire() has come to; the horizon if finished
    std::uint64_t horizon_ = tickLength - 1;  // the last key that is due
    std::uint64_t quietBefore_ = noKey;       // expire() has nothing to do up to this bound
    std::size_t armed_ = 0;
    std::uint32_t occupiedLevels_ = 0;
    unsigned emptying_ = 0;  // the level whose slot at elapsed_ is being emptied into lower ones; 0: none
    unsigned lateList_ = 0;  // which list takes timers that are armed late
    bool unfinished_ = false;
    std::array<std::uint64_t, levels> occupied_{};
    std::array<std::array<Slot, slots>, levels> wheel_{};
    std::array<Slot, 2> late_;  // timers armed late: those of the next expire(), those of the present one
};

}  // namespace weft
