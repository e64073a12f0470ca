// The flight recorder's ring (docs/explanation/protocol.md section 17): a reader gets only events that were written
// completely.
#include <weft/scheduler/detail/trace_ring.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using detail::TraceWords;

constexpr const char* protocol = "trace ring";

TraceWords event(std::uint64_t number) {
    return {number, number, number, number};
}

// A ring of one slot; `writers` threads with an event each, and a reader.
template <template <class> class RingOf>
Scenario writersAndReader(unsigned writers, unsigned eventsEach) {
    return [=](ModelRun& run) {
        run.name({"next", "dropped", "turn", "word0", "word1", "word2", "word3"});
        auto& ring = run.make<RingOf<Atomics>>(std::size_t{1});
        for (unsigned writer = 0; writer < writers; ++writer) {
            run.thread(writer == 0 ? "writer1" : "writer2", [&ring, writer, eventsEach] {
                for (unsigned i = 0; i < eventsEach; ++i) ring.record(event(1 + writer * eventsEach + i));
            });
        }
        run.thread("reader", [&ring] {
            ring.forEach([](const TraceWords& words) {
                for (const std::uint64_t word : words)
                    assertThat(word == words[0] && word != 0, "an event is read as a whole");
            });
        });
        run.finally([&ring, total = writers * eventsEach] {
            unsigned found = 0;
            ring.forEach([&](const TraceWords& words) {
                ++found;
                for (const std::uint64_t word : words) assertThat(word == words[0] && word != 0, "what stays is whole");
            });
            assertThat(found <= 1, "the ring has one slot");
            assertThat(ring.recorded() == total, "each event is counted");
            assertThat(ring.dropped() < total, "not all of them are dropped");
        });
    };
}

template <template <class> class RingOf = detail::BasicTraceRing>
std::vector<Case> cases() {
    return {makeCase("a writer and a reader", writersAndReader<RingOf>(1, 2)),
            makeCase("two writers and a reader", writersAndReader<RingOf>(2, 1))};
}

TEST(TraceRingModel, AnEventIsReadAsAWholeOrNotAtAll) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 200'000});
}
TEST(TraceRingModel, AnEventIsReadAsAWholeAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 40'000});
}

// The shipped ring with one defect.
template <class P>
class Unclaimed {  // a writer does not check whether another one uses the slot
  public:
    explicit Unclaimed(std::size_t) {}
    void record(const TraceWords& words) {
        const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
        turn_.store(2 * index + 1, std::memory_order_relaxed);
        for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_release);
        turn_.store(2 * index + 2, std::memory_order_release);
    }
    template <class Take>
    void forEach(Take take) {
        const std::uint64_t end = next_.load(std::memory_order_relaxed);
        if (end == 0 || turn_.load(std::memory_order_acquire) != 2 * end) return;
        TraceWords words;
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
        if (turn_.load(std::memory_order_relaxed) == 2 * end) take(words);
    }
    std::uint64_t recorded() { return next_.load(std::memory_order_relaxed); }
    std::uint64_t dropped() { return 0; }

  private:
    typename P::template Atomic<std::uint64_t> next_{0};
    typename P::template Atomic<std::uint64_t> turn_{0};
    std::array<typename P::template Atomic<std::uint64_t>, 4> words_{};
};

TEST(TraceRingModel, WritersThatDoNotClaimTheirSlotAreNoticed) {
    expectKilled("a writer overwrites another one's event", cases<Unclaimed>());
}

TEST(TraceRingModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), {});
}

}  // namespace
}  // namespace weft::model
