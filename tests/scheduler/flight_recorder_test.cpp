// The flight recorder as its users see it: traces of carriers whose actions the test knows.
// tests/model/trace_ring_model_test.cpp explores the ring's interleavings.
#include <weft/scheduler/flight_recorder.hpp>

#include <atomic>
#include <fstream>
#include <iterator>
#include <locale>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/this_fiber.hpp>

namespace weft {
namespace {

CarrierOptions recording(unsigned carriers, std::size_t events = 4096) {
    CarrierOptions options;
    options.carriers = carriers;
    options.traceEvents = events;
    options.workStealing = false;  // whatever the environment sets
    return options;
}

// The events of a trace that contain all of these parts, one a line.
template <class... Parts>
std::vector<std::string> eventsOf(CarrierGroup& group, const Parts&... parts) {
    std::ostringstream text;
    writeTrace(group, text);
    std::istringstream lines(text.str());
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
        if ((... && (line.find(parts) != std::string::npos))) found.push_back(line);
    }
    return found;
}

// Waits for one first: a carrier records what it does after a fiber's end once the joiner already runs.
template <class... Parts>
std::vector<std::string> awaitEvents(CarrierGroup& group, const Parts&... parts) {
    for (;;) {
        auto found = eventsOf(group, parts...);
        if (!found.empty()) return found;
        std::this_thread::yield();
    }
}

std::string onTrack(unsigned carrier) {
    return "\"tid\":" + std::to_string(carrier) + ",";
}
std::string ofFiber(std::uint64_t id) {
    return "\"fiber\":" + std::to_string(id) + ",";
}

TEST(FlightRecorder, TheNameOfATrackIsAStringOfJson) {
    CarrierOptions options = recording(1);
    options.name = "\"\\\xff!";
    CarrierGroup group(options);
    EXPECT_EQ(eventsOf(group, "\"args\":{\"name\":\"\\\"\\\\\xef\xbf\xbd!0\"}}").size(), 1u);
}

TEST(FlightRecorder, WithoutTheOptionATraceHasTracksAndNoEvents) {
    CarrierOptions options;
    options.carriers = 2;
    CarrierGroup group(options);
    group.carrier(0).spawn([] {}).join();
    EXPECT_EQ(eventsOf(group, "\"ph\":\"M\"", "weft1").size(), 1u);
    EXPECT_EQ(eventsOf(group, "\"ph\":").size(), 2u);
    EXPECT_EQ(eventsOf(group, "\"recorded\":0,\"dropped\":0").size(), 1u);
}

TEST(FlightRecorder, TheLocaleOfTheStreamDoesNotChangeATrace) {
    struct Grouped : std::numpunct<char> {
        std::string do_grouping() const override { return "\1"; }
    };
    CarrierOptions options;  // without events, which differ from trace to trace
    options.carriers = 12;
    CarrierGroup group(options);
    std::ostringstream usual, grouped;
    writeTrace(group, usual);
    grouped.imbue(std::locale(grouped.getloc(), new Grouped));
    grouped << std::hex;
    writeTrace(group, grouped);
    EXPECT_EQ(grouped.str(), usual.str());
    EXPECT_NE(usual.str().find("\"tid\":11,"), std::string::npos);
}

TEST(FlightRecorder, EachSliceOfAFiberIsRecordedWithTheReasonForItsEnd) {
    CarrierGroup group(recording(1));
    std::uint64_t id = 0;
    group.carrier(0)
        .spawn([&] {
            id = thisFiber::id();
            thisFiber::yield();
            thisFiber::sleepFor(std::chrono::microseconds(1));
        })
        .join();
    const auto ends = awaitEvents(group, "\"run\"", ofFiber(id), "\"left\":\"end\"");
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_NE(ends[0].find("\"home\":0,"), std::string::npos);
    EXPECT_NE(ends[0].find("\"ph\":\"X\""), std::string::npos);
    EXPECT_EQ(eventsOf(group, "\"run\"", ofFiber(id), "\"left\":\"yield\"").size(), 1u);
    EXPECT_EQ(eventsOf(group, "\"run\"", ofFiber(id), "\"left\":\"park\"").size(), 1u);
    EXPECT_EQ(eventsOf(group, "\"run\"", ofFiber(id)).size(), 3u);
    EXPECT_GE(awaitEvents(group, "\"timers\"", "\"count\":1").size(), 1u);
    EXPECT_GE(awaitEvents(group, "\"runFibers\"", "\"ran\":1").size(), 1u);
}

TEST(FlightRecorder, ASubmitIsOnTheTrackOfTheCarrierThatMadeIt) {
    CarrierGroup group(recording(2));
    std::uint64_t outer = 0;
    std::uint64_t inner = 0;
    const auto wakeOfTheJoiner = [&] {
        return eventsOf(group, "\"submit\"", onTrack(1), ofFiber(outer), "\"home\":0").size();
    };
    do {  // until the inner fiber ended after the outer one began to wait for it
        group.carrier(0)
            .spawn([&] {
                outer = thisFiber::id();
                group.carrier(1).spawn([&] { inner = thisFiber::id(); }).join();
            })
            .join();
        EXPECT_EQ(eventsOf(group, "\"submit\"", onTrack(0), ofFiber(inner), "\"home\":1").size(), 1u);
        EXPECT_EQ(eventsOf(group, "\"submit\"", onTrack(0), ofFiber(outer)).size(), 1u) << "from outside: at its home";
    } while (wakeOfTheJoiner() == 0);
    EXPECT_EQ(wakeOfTheJoiner(), 1u);
}

TEST(FlightRecorder, AParkEventRecordsWhatEndedIt) {
    CarrierGroup group(recording(1));
    const std::string_view byItself = "\"in\":\"futex\",\"ended\":\"itself\"";
    while (eventsOf(group, "\"park\"").empty()) group.carrier(0).spawn([] {}).join();
    EXPECT_TRUE(eventsOf(group, "\"park\"", byItself).empty()) << "there are no timers: only wakes end a sleep";
    EXPECT_GE(eventsOf(group, "\"park\"", "\"ended\":\"wake\"").size(), 1u);
    EXPECT_GE(eventsOf(group, "\"wake\"", "\"carrier\":0,\"in\":\"futex\",\"call\":false").size(), 1u);
    // Repeated: a carrier that is slow to go to sleep finds the timer due already.
    while (eventsOf(group, "\"park\"", byItself).empty()) {
        group.carrier(0).spawn([] { thisFiber::sleepFor(std::chrono::milliseconds(1)); }).join();
    }
}

TEST(FlightRecorder, AStealEventRecordsItsVictimAndWhetherACallDirectedIt) {
    CarrierOptions options = recording(2);
    options.workStealing = true;
    options.stealAge = std::chrono::microseconds(0);
    CarrierGroup group(options);
    std::atomic<bool> spins{false};
    std::atomic<bool> released{false};
    auto busy = group.carrier(0).spawn(
        [&] {
            spins = true;
            while (!released) std::this_thread::yield();
        },
        {.stealable = Stealable::never});
    while (!spins) std::this_thread::yield();
    while (eventsOf(group, "\"steal\"", onTrack(1), "\"count\":1,\"victim\":0,\"directed\":true").empty()) {
        auto steal = group.carrier(0).spawn([] { return thisFiber::id(); }, {.stealable = Stealable::fresh});
        const std::uint64_t id = steal.join();
        EXPECT_EQ(awaitEvents(group, "\"run\"", onTrack(1), ofFiber(id), "\"home\":0,\"left\":\"end\"").size(), 1u);
    }
    EXPECT_GE(eventsOf(group, "\"park\"", onTrack(1), "\"ended\":\"call\",\"victim\":0").size(), 1u);
    EXPECT_GE(eventsOf(group, "\"wake\"", "\"carrier\":1,\"in\":\"futex\",\"call\":true").size(), 1u);
    released = true;
    busy.join();
}

TEST(FlightRecorder, TheLastEventsAreKept) {
    CarrierGroup group(recording(1, 7));  // 8 slots
    std::uint64_t last = 0;
    for (int i = 0; i < 100; ++i) last = group.carrier(0).spawn([] { return thisFiber::id(); }).join();
    awaitEvents(group, "\"run\"", ofFiber(last), "\"left\":\"end\"");
    EXPECT_LE(eventsOf(group, "\"ts\":").size(), 8u);
    EXPECT_EQ(eventsOf(group, "\"dropped\":0").size(), 1u);
}

TEST(FlightRecorder, ATraceIsWrittenWhileCarriersRecord) {
    CarrierGroup group(recording(2, 16));
    std::atomic<bool> over{false};
    std::thread outside([&] {
        while (!over) group.carrier(0).spawn([] { thisFiber::yield(); }).join();
    });
    auto inside = group.carrier(1).spawn([&] {
        while (!over) thisFiber::yield();
    });
    std::size_t seen = 0;
    while (seen < 2000) {
        for (const std::string& event : eventsOf(group, "\"ts\":")) {
            ++seen;
            EXPECT_EQ(event.compare(0, 9, "{\"name\":\""), 0) << event;
        }
    }
    over = true;
    outside.join();
    inside.join();
}

TEST(FlightRecorder, ItsSizeHasARange) {
    EXPECT_EQ(resolve({}).traceEvents, 0u);
    CarrierOptions options;
    options.traceEvents = maxTraceEvents;
    EXPECT_EQ(resolve(options).traceEvents, maxTraceEvents);
    options.traceEvents = maxTraceEvents + 1;
    try {
        resolve(options);
        ADD_FAILURE() << "accepted";
    } catch (const ConfigurationError& error) {
        EXPECT_STREQ(error.what(), "traceEvents is '16777217'; accepted: a whole number from 0 to 16777216");
    }
}

#if __has_include(<sys/sdt.h>)
TEST(Probes, AreInTheProgram) {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string program((std::istreambuf_iterator<char>(file)), {});
    for (const char* name : {"fiber_submit", "fiber_run", "fiber_left", "fibers_run", "poll", "park", "unpark", "wake",
                             "timers", "steal"}) {
        const std::string note = std::string("weft") + '\0' + name + '\0';
        EXPECT_NE(program.find(note), std::string::npos) << name;
    }
}
#endif

}  // namespace
}  // namespace weft
