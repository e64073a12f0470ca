// LinuxTopology on recorded machines from topologies/, and on the machine that runs the tests.
#include <weft/scheduler/topology.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <weft/scheduler/blocking_pool.hpp>
#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "cpus.hpp"
#include "support/log_capture.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using detail::parseCpuList;
using testing::ElementsAre;

constexpr double noQuota = std::numeric_limits<double>::infinity();

std::vector<unsigned> upTo(unsigned end) {
    std::vector<unsigned> cpus(end);
    std::iota(cpus.begin(), cpus.end(), 0u);
    return cpus;
}

// A sysfs tree built from a fixture with lines "path: content"; "cpu[0-3]/..." stands for four files.
class Machine {
  public:
    explicit Machine(const std::string& fixture)
        : root_(fs::temp_directory_path() / ("weft_sysfs_" + std::to_string(::getpid()))) {
        fs::remove_all(root_);
        std::ifstream in(std::string(WEFT_TEST_ROOT) + "/scheduler/topologies/" + fixture + ".txt");
        EXPECT_TRUE(in) << fixture;
        for (std::string line; std::getline(in, line);) {
            if (!line.empty() && line.front() != '#') add(line);
        }
    }
    ~Machine() { fs::remove_all(root_); }

    LinuxTopology with(std::vector<unsigned> allowed, unsigned skip = 0, double quota = noQuota) const {
        return LinuxTopology(
            {.sysfsRoot = root_.string(), .allowedCpus = std::move(allowed), .quota = quota, .skip = skip});
    }

  private:
    void add(const std::string& line) {
        const auto colon = line.find(": ");
        const std::string path = line.substr(0, colon);
        const std::string content = line.substr(colon + 2);
        if (!path.starts_with("cpu[")) return write(path, content);
        const auto end = path.find(']');
        const auto cpus = parseCpuList(std::string_view(path).substr(4, end - 4));
        ASSERT_TRUE(cpus) << line;
        for (const unsigned cpu : *cpus) {
            std::string file = "devices/system/cpu/cpu";
            file += std::to_string(cpu);
            file += path.substr(end + 1);
            write(file, content);
        }
    }
    void write(const std::string& path, const std::string& content) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << content << '\n';
    }

    const fs::path root_;
};

std::vector<unsigned> cpusOf(const std::vector<CarrierPlace>& places) {
    std::vector<unsigned> cpus;
    for (const CarrierPlace& place : places) cpus.push_back(place.cpu ? *place.cpu : 9999);
    return cpus;
}
std::vector<unsigned> clustersOf(const std::vector<CarrierPlace>& places) {
    std::vector<unsigned> clusters;
    for (const CarrierPlace& place : places) clusters.push_back(place.cluster);
    return clusters;
}

TEST(CpuList, AcceptsTheKernelsFormatAndNothingElse) {
    EXPECT_THAT(*parseCpuList("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
    EXPECT_THAT(*parseCpuList("1200"), ElementsAre(1200));
    EXPECT_TRUE(parseCpuList("\n")->empty());
    for (const char* wrong : {"a", "1-", "-1", "3-1", "1,", ",1", "1;2", "1 2", "99999999999", "0-99999999"}) {
        EXPECT_FALSE(parseCpuList(wrong)) << wrong;
    }
}

TEST(LinuxTopologyTest, ADesktopOfTwoDiesHasTwoClustersAndEachCoreComesBeforeASecondThread) {
    const Machine machine("desktop_two_ccds");
    const auto places = machine.with(upTo(32)).place(18);
    EXPECT_THAT(cpusOf(places), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17));
    EXPECT_THAT(clustersOf(places), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0));
}

TEST(LinuxTopologyTest, AServerOfTwoSocketsFillsOneAfterTheOther) {
    const Machine machine("server_two_sockets");
    const auto places = machine.with(upTo(16)).place(10);
    EXPECT_THAT(cpusOf(places), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7, 8, 10));
    EXPECT_THAT(clustersOf(places), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 0, 0));
}

TEST(LinuxTopologyTest, AHybridMachineUsesItsFastCoresFirst) {
    const Machine machine("laptop_hybrid");
    EXPECT_THAT(cpusOf(machine.with(upTo(16)).place(14)), ElementsAre(0, 2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 1, 3));
    const Machine phone("phone_big_little");
    EXPECT_THAT(cpusOf(phone.with(upTo(8)).place(6)), ElementsAre(4, 5, 6, 7, 0, 1));
}

TEST(LinuxTopologyTest, WithoutAnL3AllCarriersAreOneCluster) {
    const Machine machine("vm_without_l3");
    const auto places = machine.with(upTo(4)).place(4);
    EXPECT_THAT(cpusOf(places), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(clustersOf(places), ElementsAre(0, 0, 0, 0));
}

TEST(LinuxTopologyTest, WithoutASysfsEachAllowedCpuIsACore) {
    const LinuxTopology topology({.sysfsRoot = "/nowhere", .allowedCpus = {{3, 5}}, .quota = noQuota});
    EXPECT_THAT(cpusOf(topology.place(2)), ElementsAre(3, 5));
}

TEST(LinuxTopologyTest, OnlyAllowedCpusAreUsedAndAThreadWhoseCoreIsElsewhereIsACore) {
    const Machine machine("desktop_two_ccds");
    const auto places = machine.with({7, 12, 17, 23, 28}).place(5);
    EXPECT_THAT(cpusOf(places), ElementsAre(7, 17, 12, 23, 28));
    EXPECT_THAT(clustersOf(places), ElementsAre(0, 0, 1, 0, 1));
}

TEST(LinuxTopologyTest, PlacesMayBeSkippedForAnotherProcess) {
    const Machine machine("vm_without_l3");
    EXPECT_THAT(cpusOf(machine.with(upTo(4), 3).place(3)), ElementsAre(3, 0, 1));
    EXPECT_THAT(cpusOf(machine.with(upTo(4), 5).place(2)), ElementsAre(1, 2));
}

TEST(LinuxTopologyTest, CarriersBeyondTheCpusFloatAndAreReportedOnce) {
    const test::LogCapture log;
    const Machine machine("server_two_sockets");
    const auto places = machine.with({0, 1}).place(5);
    EXPECT_THAT(cpusOf(places), ElementsAre(0, 1, 9999, 9999, 9999));
    EXPECT_THAT(clustersOf(places), ElementsAre(0, 1, 0, 1, 0));
    EXPECT_EQ(log.countAt(LogLevel::warning, "5 carriers on 2 CPUs: the last 3 float"), 1) << log.text();
}

TEST(LinuxTopologyTest, UnderAQuotaCarriersFloatAndTheReasonIsLogged) {
    const test::LogCapture log;
    const Machine machine("desktop_two_ccds");
    const auto places = machine.with(upTo(32), 0, 2.5).place(3);
    EXPECT_THAT(cpusOf(places), ElementsAre(9999, 9999, 9999));
    EXPECT_THAT(clustersOf(places), ElementsAre(0, 0, 0));
    EXPECT_EQ(log.countAt(LogLevel::warning, "a CPU quota of 2.5", "cpuset"), 1) << log.text();
}

TEST(LinuxTopologyTest, CpusBeyondTheFirstThousandAreCpus) {
    const LinuxTopology topology({.sysfsRoot = "/nowhere", .allowedCpus = {{1500, 3000}}, .quota = noQuota});
    EXPECT_THAT(cpusOf(topology.place(2)), ElementsAre(1500, 3000));
}

// ---- carriers of a group ----

struct Places final : Topology {
    explicit Places(std::vector<CarrierPlace> places) : places(std::move(places)) {}
    std::vector<CarrierPlace> place(unsigned) const override { return places; }
    std::vector<CarrierPlace> places;
};

CarrierOptions placed(std::vector<CarrierPlace> places) {
    CarrierOptions options;
    options.carriers = static_cast<unsigned>(places.size());
    options.places = std::make_shared<Places>(std::move(places));
    return options;
}

TEST(Topology, ACarrierIsBoundToItsCpuAndNamedByIt) {
    const unsigned cpu = detail::allowedCpus().back();
    CarrierGroup group(placed({{cpu, 3}, {}}));
    const auto threadName = [] {
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof name);
        return std::string(name);
    };
    const std::string name = "weft0/l3/p" + std::to_string(cpu);
    EXPECT_EQ(group.carrier(0).name(), name);
    EXPECT_EQ(group.carrier(0).spawn(threadName).join(), name);
    EXPECT_THAT(group.carrier(0).spawn(detail::allowedCpus).join(), ElementsAre(cpu));
    EXPECT_EQ(group.carrier(1).name(), "weft1");
    EXPECT_EQ(group.carrier(1).spawn(detail::allowedCpus).join(), detail::allowedCpus());
}

TEST(Topology, ABlockingPoolThatABoundCarrierCreatesIsNotBound) {
    CarrierGroup group(placed({{detail::allowedCpus().back(), 0}}));
    const auto cpusOfPool = [] {
        BlockingPool pool;
        return pool.run(detail::allowedCpus);
    };
    EXPECT_EQ(group.spawn(cpusOfPool).join(), detail::allowedCpus());
}

TEST(Topology, ALongNameLosesItsClusterFirst) {
    const unsigned cpu = detail::allowedCpus().front();
    CarrierOptions options = placed({{cpu, 12345}});
    options.name = "longname";
    CarrierGroup group(options);
    EXPECT_EQ(group.carrier(0).name(), "longname0/l12345/p" + std::to_string(cpu));
    EXPECT_EQ(group
                  .spawn([] {
                      char name[16];
                      pthread_getname_np(pthread_self(), name, sizeof name);
                      return std::string(name);
                  })
                  .join(),
              "longname0/p" + std::to_string(cpu));
}

TEST(Topology, ACarrierThatCannotBeBoundFloatsAndTheGroupReportsItOnce) {
    const test::LogCapture log;
    {
        CarrierGroup group(placed({{1u << 19, 0}, {1u << 19, 0}}));
        EXPECT_EQ(group.carrier(1).spawn(detail::allowedCpus).join(), detail::allowedCpus());
    }
    EXPECT_EQ(log.countAt(LogLevel::warning, "cannot be bound to its CPU (Invalid argument)"), 1) << log.text();
}

TEST(Topology, AWrongNumberOfPlacesIsRefused) {
    CarrierOptions options = placed({{}, {}});
    options.carriers = 3;
    try {
        CarrierGroup group(options);
        ADD_FAILURE() << "accepted";
    } catch (const ConfigurationError& error) {
        EXPECT_STREQ(error.what(), "the topology returned 2 places for 3 carriers; accepted: one place per carrier");
    }
}

// 0 is busy; 1 shares its cache, 2 and 3 do not. While 1 is busy, too, these look for work again and again.
TEST(Topology, CarriersOfOtherClustersDoNotHelp) {
    CarrierOptions options = placed({{{}, 0}, {{}, 0}, {{}, 1}, {{}, 1}});
    options.workStealing = true;
    options.stealScope = StealScope::cluster;
    options.stealAge = std::chrono::microseconds(0);
    CarrierGroup group(options);
    std::atomic<int> spinning{0};
    const auto occupy = [&](unsigned carrier, const std::atomic<bool>& done) {
        return group.carrier(carrier).spawn(
            [&] {
                ++spinning;
                while (!done) std::this_thread::yield();
            },
            {.stealable = Stealable::never});
    };
    std::atomic<bool> done[2] = {false, false};
    JoinHandle<void> busy[] = {occupy(0, done[0]), occupy(1, done[1])};
    while (spinning < 2) std::this_thread::yield();
    std::vector<JoinHandle<Carrier*>> waiting;
    for (int i = 0; i < 8; ++i)
        waiting.push_back(
            group.carrier(0).spawn([] { return thisFiber::runningCarrier(); }, {.stealable = Stealable::fresh}));
    for (int i = 0; i < 100; ++i) {
        for (const unsigned idle : {2u, 3u}) group.carrier(idle).spawn([] {}, {.stealable = Stealable::never}).join();
    }
    done[1] = true;
    for (auto& fiber : waiting) EXPECT_EQ(fiber.join(), &group.carrier(1));
    done[0] = true;
    for (auto& fiber : busy) fiber.join();
    EXPECT_EQ(group.carrier(2).stats().steals + group.carrier(3).stats().steals, 0u);
}

TEST(Topology, AStealClusterOfMoreCarriersThanAdvisedIsReported) {
    CarrierOptions options;
    options.workStealing = true;
    options.carriers = 32;
    const test::LogCapture log;
    { const CarrierGroup group(options); }
    EXPECT_EQ(log.count("steal cluster"), 0);
    options.carriers = 33;
    { const CarrierGroup group(options); }
    EXPECT_EQ(log.count("33 carriers are in one steal cluster; the recommended maximum is 32: set topology to linux"),
              1);
}

}  // namespace
}  // namespace weft
