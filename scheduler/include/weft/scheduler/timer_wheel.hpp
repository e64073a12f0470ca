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
    static constexpr std::uint8_t due = 0xfe;
    static constexpr std::uint8_t firing = 0xfd;

    TimerEntry* previous = nullptr;
    TimerEntry* next = nullptr;
    Deadline at{};
    std::uint64_t tick = 0;
    std::uint8_t level = unlinked;
    std::uint8_t slot = 0;
};

// Timers in ticks of 2^16 ns (about 65 us); a timer never fires early and at most one tick late by the wheel's doing.
// Equal deadlines fire in the order of arming. Insertion and removal are O(1); expiry is too, but for a sort of what is
// due at once. Context: its owner's thread. Never blocks, allocates or throws.
class TimerWheel {
  public:
    static constexpr unsigned tickShift = 16;
    static constexpr Duration tick{1 << tickShift};

    explicit TimerWheel(TimePoint start) noexcept;
    ~TimerWheel();
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    // Arms an unarmed entry; a deadline that has passed fires with the next expire().
    void arm(TimerEntry& entry, Deadline at) noexcept;
    // Unlinks an armed entry; does nothing to an unarmed one.
    void disarm(TimerEntry& entry) noexcept;
    // Fires everything due at `now`, in order of deadline; returns how many. Entries armed from a Fire for a time that
    // has passed wait for the next call. A clock that steps back counts as standing still.
    std::size_t expire(TimePoint now) noexcept {
        const std::uint64_t nowTick = tickBefore(now);
        if (nowTick >= quietBefore_) [[unlikely]]
            return expireUpTo(nowTick);
        elapsed_ = std::max(elapsed_, nowTick);
        return 0;
    }

    // When expire() has something to do next: exact for the earliest timers, early (never late) for far ones; `never`
    // when nothing is armed.
    Deadline nextExpiry() const noexcept;
    // The earliest deadline, exactly; looks at every timer of one slot.
    Deadline earliest() const noexcept;
    // Tells an empty wheel what time it is, so that nextExpiry() is not in the past for timers armed after a long idle
    // time.
    void catchUp(TimePoint now) noexcept {
        if (armed_ == 0) elapsed_ = std::max(elapsed_, tickBefore(now));
    }
    bool empty() const noexcept { return armed_ == 0; }
    std::size_t size() const noexcept { return armed_; }

  private:
    static constexpr unsigned levels =
        7;  // 64^7 ticks: about 9 years; later deadlines wait in the top level and cascade
    static constexpr unsigned slotBits = 6;
    static constexpr unsigned slots = 1u << slotBits;
    static constexpr std::uint64_t noTick = ~std::uint64_t{0};

    struct Slot {
        TimerEntry* first = nullptr;
        TimerEntry* last = nullptr;
    };
    struct Expiration {
        unsigned level;
        unsigned slot;
        std::uint64_t tick;
    };

    std::uint64_t tickBefore(TimePoint now) const noexcept {
        return now <= start_ ? 0 : static_cast<std::uint64_t>((now - start_).count()) >> tickShift;
    }
    std::uint64_t tickAtOrAfter(Deadline at) const noexcept;
    void place(TimerEntry& entry) noexcept;
    static void link(Slot& slot, TimerEntry& entry) noexcept;
    static void unlink(Slot& slot, TimerEntry& entry) noexcept;
    static bool inOrder(const Slot& list) noexcept;
    static void sort(Slot& list) noexcept;
    static Slot cutRun(Slot& list, std::size_t length) noexcept;
    void takeDue() noexcept;
    bool nextExpiration(Expiration& next) const noexcept;
    std::size_t expireUpTo(std::uint64_t nowTick) noexcept;
    void process(const Expiration& slotDue) noexcept;

    const TimePoint start_;
    std::uint64_t elapsed_ = 0;      // ticks since start_ that expire() has worked through
    std::uint64_t quietBefore_ = 0;  // expire() has nothing to do before this tick
    std::size_t armed_ = 0;
    std::array<std::uint64_t, levels> occupied_{};
    std::array<std::array<Slot, slots>, levels> wheel_{};
    Slot due_;     // entries whose tick has come, waiting for the next expire()
    Slot firing_;  // what expire() is at
};

}  // namespace weft
