// TimerWheel: the hierarchical timer wheel of a carrier or an embedded loop. It never reads a clock.
// Source: Varghese and Lauck, "Hashed and Hierarchical Timing Wheels" (1987), with xor levels and occupancy bitmaps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <weft/scheduler/deadline.hpp>
#include <weft/scheduler/detail/least.hpp>

namespace weft {

class TimerWheel;

// One timer, linked into at most one wheel. Its owner provides the memory (often on a fiber's stack) and must disarm it
// before destroying it.
struct TimerEntry {
    using Fire = void (*)(TimerEntry&) noexcept;

    // `at`: deadline() until the entry is armed.
    explicit TimerEntry(Fire fire, Deadline at = {}) noexcept : fire(fire), at(at) {}
    TimerEntry(const TimerEntry&) = delete;
    TimerEntry& operator=(const TimerEntry&) = delete;

    Fire fire;  // the wheel disarms the entry before the call, so `fire` may re-arm or destroy it
    bool armed() const noexcept { return level != unlinked; }
    Deadline deadline() const noexcept { return at; }

  private:
    friend class TimerWheel;
    static constexpr std::uint8_t unlinked = 0xff;
    static constexpr std::uint8_t late = 0xfe;  // `slot` is then the index of a late list

    TimerEntry* previous = nullptr;
    TimerEntry* next = nullptr;
    Deadline at;
    std::uint64_t key = 0;
    std::uint8_t level = unlinked;
    std::uint8_t slot = 0;
};

// Timers fire in ticks of 2^16 ns (about 65 us): never early, and the wheel delays them by at most one tick, or with
// Due::atOnce not at all. Timers that are due together fire in the order of their deadlines, equal ones in the order of
// arming. Insertion and removal are O(1).
// The wheel moves each timer down at most once per level, which sorts the timers; no single step depends on how many
// timers are armed or due. Context: its owner's thread. Never blocks, allocates or throws.
class TimerWheel {
  public:
    static constexpr unsigned tickShift = 16;
    static constexpr Duration tick{1 << tickShift};
    static constexpr std::size_t allSteps = ~std::size_t{0};

    // When a timer is due.
    enum class Due : unsigned char {
        atTick,  // at the first tick that is not before its deadline
        atOnce,  // at its deadline: for a clock that moves by hand, which may stop anywhere in a tick
    };

    explicit TimerWheel(TimePoint start, Due due = Due::atTick) noexcept;
    ~TimerWheel();
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    // Arms an unarmed entry. If its deadline has passed already it is late and fires in the next expire().
    void arm(TimerEntry& entry, Deadline at) noexcept;
    // Disarms an entry; has no effect on an unarmed one.
    void disarm(TimerEntry& entry) noexcept;
    // Fires the timers that are due at `now` and returns their number: first the late ones in the order of arming, then
    // the others in the order of their deadlines. Entries that a `fire` function arms late wait for the next call. A
    // `now` earlier than the last one counts as the last one.
    // Takes at most `steps` steps; each step fires a timer or moves one down a level. If timers that are due remain,
    // unfinished() is true and the next call continues with them.
    std::size_t expire(TimePoint now, std::size_t steps = allSteps) noexcept {
        const std::uint64_t bound = dueBefore(now);
        if (bound > quietBefore_) [[unlikely]]
            return expireBefore(bound, steps);
        passTo(bound);
        return 0;
    }
    // True if the last expire() ran out of steps, so that timers that were due have not fired yet.
    bool unfinished() const noexcept { return unfinished_; }

    // When to call expire() next, or `never` if no timer is armed. For a timer in the far future it may be earlier than
    // the timer's own tick, never later.
    Deadline nextExpiry() const noexcept;
    // The earliest deadline, exactly; visits every timer of one slot. Do not call it while unfinished().
    Deadline earliest() const noexcept;
    // Advances an empty wheel to `now`, so that nextExpiry() is not in the past for timers armed after a long idle
    // time. Has no effect on a wheel that is not empty.
    void catchUp(TimePoint now) noexcept {
        if (armed_ == 0) passTo(dueBefore(now));
    }
    bool empty() const noexcept { return armed_ == 0; }
    std::size_t size() const noexcept { return armed_; }

  private:
    // A key is (deadline - start) in ns plus one tick minus 1. A timer is due at `now` if its key is below
    // dueBefore(now), which is a multiple of a tick unless timers are due at once. Level 0 has 16 slots of 1 ns; every
    // other level has 64 slots, each as long as the whole level below. Levels 0 to 2 together span one tick.
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

    // The lowest key that is not due at `now`.
    std::uint64_t dueBefore(TimePoint now) const noexcept {
        if (now <= start_) return tickLength;
        return (static_cast<std::uint64_t>((now - start_).count()) & ~delay_) + tickLength;
    }
    std::uint64_t keyOf(Deadline at) const noexcept {
        return at <= start_ ? tickLength - 1 : static_cast<std::uint64_t>((at - start_).count()) + (tickLength - 1);
    }
    TimePoint timeOf(std::uint64_t key) const noexcept;
    // Advances to `bound`, before which no timer is due.
    void passTo(std::uint64_t bound) noexcept { elapsed_ = horizon_ = detail::greatest(horizon_, bound - 1); }

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
    const std::uint64_t delay_;               // the longest delay of a timer in ns: a tick minus 1, or 0
    std::uint64_t elapsed_ = tickLength - 1;  // first key of the slot that expire() is at; the horizon when finished
    std::uint64_t horizon_ = tickLength - 1;  // the highest key that is due
    std::uint64_t quietBefore_ = noKey;       // expire() has nothing to do up to this bound
    std::size_t armed_ = 0;
    std::uint32_t occupiedLevels_ = 0;
    unsigned emptying_ = 0;  // the level whose slot at elapsed_ is being emptied into lower levels; 0: none
    unsigned lateList_ = 0;  // the list that receives timers armed late
    bool unfinished_ = false;
    std::array<std::uint64_t, levels> occupied_{};
    std::array<std::array<Slot, slots>, levels> wheel_{};
    std::array<Slot, 2> late_;  // timers armed late: one list for the next expire(), one for the current expire()
};

}  // namespace weft
