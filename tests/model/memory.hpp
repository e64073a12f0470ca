// Memory: the C++20 memory model as a machine. Each location has the history of its stores in modification order; each
// thread has a view, the oldest store of each location that it may still read. Owned by Execution; it knows only the
// threads' numbers, and uses Choices wherever the standard leaves a choice. README.md lists what is left out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "choices.hpp"

namespace weft::model {

using Value = std::uint64_t;
using Time = std::uint16_t;  // of a store: its place in its location's modification order. Of a thread: its steps

inline constexpr unsigned maxLocations = 56;
inline constexpr unsigned maxThreads = 8;

// What a thread must have seen, and (the clocks) what happens before it: two cache lines.
struct alignas(64) View {
    std::array<Time, maxLocations> seen{};
    std::array<Time, maxThreads> clock{};

    void joinSeen(const View& other) noexcept {
        for (unsigned i = 0; i < maxLocations; ++i) seen[i] = seen[i] < other.seen[i] ? other.seen[i] : seen[i];
    }
    void join(const View& other) noexcept {
        joinSeen(other);
        for (unsigned i = 0; i < maxThreads; ++i) clock[i] = clock[i] < other.clock[i] ? other.clock[i] : clock[i];
    }
};

struct Store {
    Value value = 0;
    Time time = 0;
    std::uint8_t writer = 0;
    bool attached = false;   // an RMW's: nothing may come between it and its predecessor
    bool promised = false;   // speculated by `writer`, the reader; not stored yet
    bool byAcquire = false;  // promised, and read by an acquire load
    Time loadedAt = 0;       // promised, and loaded at this step of the reader
    View view;               // what an acquire load of this store joins
};

struct MemoryRules {
    unsigned spuriousFailures = 1;  // of weak compare-exchanges, in one execution
    unsigned staleRepeats = 2;      // how often in a row a thread may read the same overwritten store
    bool insertStores = false;      // a store may go before stores that have been executed already
    bool speculateLoads = false;    // a load may read a store that is executed later
};

constexpr bool acquires(std::memory_order order) noexcept {
    return order == std::memory_order_acquire || order == std::memory_order_consume ||
           order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}
constexpr bool releases(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
constexpr bool sequential(std::memory_order order) noexcept {
    return order == std::memory_order_seq_cst;
}

class Memory {
  public:
    explicit Memory(Choices& choices) : choices_(choices) {}

    void begin(const MemoryRules& rules);
    unsigned addLocation(unsigned thread, Value initial);
    // `child` begins after all that `parent` has done; `parent` continues after all that `child` has done.
    void fork(unsigned parent, unsigned child);
    void join(unsigned parent, unsigned child);

    Value load(unsigned thread, unsigned location, std::memory_order order);
    void store(unsigned thread, unsigned location, Value value, std::memory_order order);
    // A read-modify-write in two calls, with nothing between them.
    Value beginUpdate(unsigned thread, unsigned location, std::memory_order order);
    void endUpdate(unsigned thread, unsigned location, Value value, std::memory_order order);
    bool compareExchange(unsigned thread, unsigned location, Value& expected, Value desired, std::memory_order success,
                         std::memory_order failure, bool weak);
    void fence(unsigned thread, std::memory_order order);

    // The newest store, as the kernel or a debugger sees it.
    const Store& newest(unsigned location) const noexcept;
    bool readTheNewest() const noexcept { return lastReadWasNewest_; }  // the last read, for the trace

    // For a thread that spins: records what it reads from now on.
    void startWatching(unsigned thread) noexcept { threads_[thread].watched = 0; }
    bool watchedHasChanged(unsigned thread) const noexcept;
    // The next loads of what it has read must return something newer, if it exists.
    void insistOnNewer(unsigned thread) noexcept;

    // Happens-before, for data that is not atomic.
    Time clock(unsigned thread) const noexcept { return threads_[thread].current.clock[thread]; }
    bool happenedBefore(unsigned earlier, Time at, unsigned thread) const noexcept {
        return threads_[thread].current.clock[earlier] >= at;
    }
    // Whether every access to the location happens before what `thread` does now.
    bool quietFor(unsigned location, unsigned thread) const noexcept;
    // A lock: passes the last owner's view to the next owner.
    void release(unsigned thread, View& lock) noexcept;
    void acquire(unsigned thread, const View& lock) noexcept;

    // Whether there are speculated loads whose store has not come.
    bool hasOpenPromises() const noexcept { return openPromises_ != 0; }
    // Which values are ever stored where, learned in executions without speculation.
    void forgetLearned() noexcept { learned_.clear(); }
    void learn(bool on) noexcept { learning_ = on; }

  private:
    struct Location {
        std::vector<Store> stores;  // in modification order
        std::array<Time, maxThreads> accessedAt{};
    };
    struct ThreadView {
        View current;    // what it has seen and what happens before it
        View claimable;  // also what its relaxed loads have read: an acquire fence takes it over
        View released;   // as of its last release fence: its relaxed stores carry it
        std::array<Time, maxLocations> lastRead{};
        std::array<std::uint8_t, maxLocations> repeats{};
        std::uint64_t watched = 0;  // locations read since startWatching()
        Time acquireFenceAt = 0;    // its last acquire fence
    };
    struct Learned {
        unsigned location;
        unsigned writer;
        Value value;
        bool operator==(const Learned&) const = default;
    };

    Time readBound(const ThreadView& view, unsigned location, std::memory_order order) const noexcept;
    unsigned listReadable(unsigned thread, unsigned location, Time bound) noexcept;
    void noteRead(unsigned thread, unsigned location, std::size_t index, std::memory_order order) noexcept;
    void noteAccess(unsigned thread, unsigned location) noexcept;

    bool hasRoomAfter(const Location& location, std::size_t index) const noexcept;
    Store& insertAfter(unsigned location, std::size_t index);
    void publish(unsigned thread, unsigned location, Store& store, Value value, std::memory_order order) noexcept;
    void claimView(ThreadView& view, const View& stored, std::memory_order order) noexcept;
    void write(unsigned thread, unsigned location, std::size_t after, Value value, std::memory_order order);
    void writeUpdate(unsigned thread, unsigned location, std::size_t after, Value value, std::memory_order order);

    unsigned listPromisable(unsigned thread, unsigned location, std::memory_order order) noexcept;
    Value speculate(unsigned thread, unsigned location, const Learned& learned, std::memory_order order);
    bool redeems(unsigned thread, unsigned location, const Store& promise, Value value,
                 std::memory_order order) const noexcept;
    void redeem(unsigned thread, unsigned location, Store& promise, Value value, std::memory_order order) noexcept;

    Choices& choices_;
    MemoryRules rules_;
    std::array<Location, maxLocations> locations_;
    std::array<ThreadView, maxThreads> threads_;
    View sequential_;  // what the seq_cst operations so far have seen and stored
    unsigned used_ = 0;
    unsigned spuriousLeft_ = 0;
    std::size_t updateAfter_ = 0;
    bool lastReadWasNewest_ = true;
    bool learning_ = false;
    unsigned openPromises_ = 0;
    std::array<std::uint16_t, 256> options_;
    std::vector<Learned> learned_;
    std::vector<Learned> promisable_;
};

}  // namespace weft::model
