// Watch and Broadcast of weft::sync (docs/explanation/protocol.md section 20): each reader is woken by what it has not
// seen, and reads it itself.
#include <weft/scheduler/detail/basic_broadcast.hpp>
#include <weft/scheduler/detail/basic_watch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sync_world.hpp"

namespace weft::model {
namespace {

using namespace sync;

using Value = Plain<int>;

using Watch = detail::BasicWatch<Sync, Value>;
using Broadcast = detail::BasicBroadcast<Sync, Value>;

Scenario watches(bool mayGiveUp) {
    return [=](ModelRun& run) {
        auto& world = makeWorld<Watch, 2>(run, Value(1));
        run.thread("sends", [&world] {
            world.data = 1;
            for (const int value : {2, 3}) {
                assertThat(world.object.changeIf([&](Value& current) { return current = value, true; }), "it is open");
            }
        });
        for (const std::size_t i : {0u, 1u}) {
            run.thread(i == 0 ? "reader1" : "reader2", [&world, i, mayGiveUp] {
                Watch& watch = world.enter(i);
                Watch::Version seen = 1;
                int last = 1;
                while (last < 3) {
                    std::optional<Value> value;
                    const Timeout until = i == 0 && mayGiveUp ? Timeout::possible : Timeout::never;
                    if (watch.next(seen, value, until, "next")) return;
                    assertThat(value->get() > last, "a newer value");
                    last = value->get();
                }
                assertThat(world.data == 1, "what the sender wrote before");
            });
        }
    };
}

// One place: a receiver gets the first value or misses it, and always the last; then the close.
void broadcasts(ModelRun& run) {
    auto& world = makeWorld<Broadcast, 2>(run, std::size_t{1});
    struct Numbers {
        std::array<Broadcast::Number, 2> next;
    };
    auto& numbers = run.make<Numbers>();
    for (auto& next : numbers.next) next = world.object.subscribe();
    run.thread("sends", [&world] {
        for (const int value : {1, 2}) assertThat(world.object.send(Value(value)) > 0, "there is a receiver");
        world.object.close();
    });
    run.thread("receives", [&world, &numbers] {
        Broadcast& broadcast = world.enter(0);
        int sum = 0;
        std::uint64_t lost = 0;
        for (;;) {
            std::optional<Value> value;
            std::uint64_t missed = 0;
            assertThat(!broadcast.receive(numbers.next[0], value, missed, Timeout::never, "receive"), "no timeout");
            lost += missed;
            if (!value) break;
            sum += value->get();
        }
        assertThat(lost == 0 ? sum == 3 : lost == 1 && sum == 2, "each value is received or counted as missed");
        broadcast.unsubscribe(numbers.next[0]);
    });
    run.thread("leaves", [&world, &numbers] {
        Broadcast& broadcast = world.enter(1);
        std::optional<Value> value;
        std::uint64_t missed = 0;
        (void)broadcast.receive(numbers.next[1], value, missed, Timeout::possible, "receive");
        broadcast.unsubscribe(numbers.next[1]);
    });
    run.finally([&world] { assertThat(world.object.receivers() == 0 && world.object.isClosed(), "all have left"); });
}

std::vector<Case> cellCases() {
    return {makeCase("watches", watches(false)), makeCase("watches, one gives up", watches(true)),
            makeCase("broadcasts", broadcasts)};
}

TEST(CellModel, EveryReaderIsWokenByWhatItHasNotSeen) {
    exploreAll("watch and broadcast", cellCases(), {.preemptions = 2, .executions = 100'000});
    exploreAll("watch and broadcast", cellCases(), {.search = Search::random, .executions = 10'000});
    exploreAll("watch and broadcast", cellCases(), {.search = Search::pct, .executions = 10'000});
}

}  // namespace
}  // namespace weft::model
