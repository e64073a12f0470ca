#include <weft/scheduler/carrier_options.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include <weft/scheduler/carrier_group.hpp>

#include <unistd.h>

namespace weft {
namespace {

using std::chrono::microseconds;

// Sets an environment variable for the duration of a test.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* const set = std::getenv(name)) before_ = set;
        ::setenv(name, value, 1);
    }
    ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

  private:
    const char* name_;
    std::optional<std::string> before_;
};

std::string refusal(const CarrierOptions& options) {
    try {
        resolve(options);
    } catch (const ConfigurationError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(CarrierOptions, TheEnvironmentFillsWhatTheProgramLeftUnset) {
    const Variable carriers("WEFT_CARRIERS", "3");
    const Variable yield("WEFT_YIELD_US", "70");
    EXPECT_EQ(resolve({}).carriers, 3u);
    EXPECT_EQ(resolve({}).yieldBudget, microseconds(70));
    CarrierOptions given;
    given.carriers = 2;
    EXPECT_EQ(resolve(given).carriers, 2u);
}

TEST(CarrierOptions, ABadVariableIsNamedWithItsValueAndWhatIsAccepted) {
    for (const char* bad : {"0", "-1", "two", "2 ", "99999999999999999999"}) {
        const Variable carriers("WEFT_CARRIERS", bad);
        const std::string text = refusal({});
        EXPECT_NE(text.find("WEFT_CARRIERS"), std::string::npos) << text;
        EXPECT_NE(text.find(bad), std::string::npos) << text;
        EXPECT_NE(text.find("1 to 1024"), std::string::npos) << text;
    }
}

TEST(CarrierOptions, ABadOptionIsNamedWithItsValueAndWhatIsAccepted) {
    CarrierOptions options;
    options.stackSize = 100;
    const std::string text = refusal(options);
    EXPECT_NE(text.find("stackSize"), std::string::npos);
    EXPECT_NE(text.find("100"), std::string::npos);
    EXPECT_NE(text.find("16384"), std::string::npos);
    CarrierOptions name;
    name.name = "much too long";
    EXPECT_NE(refusal(name).find("1 to 8 characters"), std::string::npos);
}

TEST(CarrierOptions, AStealScopeOfClustersNeedsStealingAndClusters) {
    const Variable scope("WEFT_STEAL_SCOPE", "cluster");
    const Variable off("WEFT_WORK_STEALING", "false");
    EXPECT_EQ(refusal({}), "WEFT_STEAL_SCOPE is 'cluster'; accepted: global ('cluster' needs workStealing)");
    CarrierOptions options;
    options.workStealing = true;
    EXPECT_EQ(refusal(options),
              "WEFT_STEAL_SCOPE is 'cluster'; accepted: global ('cluster' needs a topology, which defines the "
              "clusters: set topology to linux)");
    options.topology = "linux";
    EXPECT_EQ(resolve(options).stealScope, StealScope::cluster);
    options.stealScope = StealScope::global;
    EXPECT_EQ(resolve(options).stealScope, StealScope::global);
    options.stealScope.reset();
    const Variable town("WEFT_STEAL_SCOPE", "town");
    EXPECT_EQ(refusal(options), "WEFT_STEAL_SCOPE is 'town'; accepted: global, cluster");
}

TEST(CarrierOptions, StealingStaysWithinClustersWhereTheyAreKnown) {
    CarrierOptions options;
    options.workStealing = true;
    EXPECT_EQ(resolve(options).stealScope, StealScope::global);
    options.topology = "linux";
    EXPECT_EQ(resolve(options).stealScope, StealScope::cluster);
    options.workStealing = false;
    EXPECT_EQ(resolve(options).stealScope, StealScope::global);
}

TEST(CarrierOptions, ATopologyHasAName) {
    CarrierOptions options;
    EXPECT_EQ(resolve(options).topology, nullptr);
    const Variable from("WEFT_TOPOLOGY", "linux");
    EXPECT_NE(resolve(options).topology, nullptr);
    options.topology = "none";
    EXPECT_EQ(resolve(options).topology, nullptr);
    options.topology = "flat";
    EXPECT_EQ(refusal(options), "topology is 'flat'; accepted: none, linux, linux+N");
    options.topology = "linux+";
    EXPECT_EQ(refusal(options), "topology (N of linux+N) is ''; accepted: a whole number from 0 to 1000000");
    options.topology = "linux";
    options.places = std::make_shared<LinuxTopology>();
    EXPECT_EQ(refusal(options), "topology is 'linux'; accepted: no topology when places is set");
    options.topology.reset();
    EXPECT_EQ(resolve(options).topology, options.places);
}

TEST(CarrierOptions, TheDefaultsMayBeSpelledOut) {
    const Variable scope("WEFT_STEAL_SCOPE", "global");
    const Variable stealing("WEFT_WORK_STEALING", "false");
    const Variable topology("WEFT_TOPOLOGY", "none");
    const Variable spin("WEFT_IDLE_SPIN_US", "25");
    EXPECT_EQ(refusal({}), "(accepted)");
    EXPECT_EQ(resolve({}).idleSpin, microseconds(25));
    EXPECT_FALSE(resolve({}).shuffleSeed.has_value());
    const Variable seed("WEFT_SHUFFLE_SEED", "17");
    EXPECT_EQ(resolve({}).shuffleSeed, 17u);
    const Variable bad("WEFT_SHUFFLE_SEED", "-3");
    EXPECT_EQ(refusal({}), "WEFT_SHUFFLE_SEED is '-3'; accepted: a whole number from 0 to 4294967295");
}

TEST(CarrierOptions, TheNumberOfBlockingThreadsIsChecked) {
    EXPECT_EQ(resolve({}).blockingThreads, 512u);
    const Variable threads("WEFT_BLOCKING_THREADS", "7");
    EXPECT_EQ(resolve({}).blockingThreads, 7u);
    CarrierOptions options;
    options.blockingThreads = 0;
    EXPECT_EQ(refusal(options), "blockingThreads is '0'; accepted: a whole number from 1 to 16384");
    const Variable none("WEFT_BLOCKING_THREADS", "none");
    EXPECT_EQ(refusal({}), "WEFT_BLOCKING_THREADS is 'none'; accepted: a whole number from 1 to 16384");
}

TEST(CarrierOptions, AValueBeyondTheSignedNumbersIsNamedAsItWasGiven) {
    const std::string most = "'" + std::to_string(std::numeric_limits<std::size_t>::max()) + "'";
    CarrierOptions options;
    options.blockingThreads = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(refusal(options), "blockingThreads is " + most + "; accepted: a whole number from 1 to 16384");
    options = {};
    options.stackSize = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(refusal(options).find("stackSize (bytes) is " + most), 0u) << refusal(options);
    options = {};
    options.cachedStacks = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(refusal(options).find("cachedStacks is " + most), 0u) << refusal(options);
}

TEST(CarrierOptions, WorkStealingIsTrueOrFalse) {
    const Variable stealing("WEFT_WORK_STEALING", "yes");
    EXPECT_NE(refusal({}).find("true, false"), std::string::npos);
    const Variable on("WEFT_WORK_STEALING", "true");
    CarrierOptions options;
    options.carriers = 2;
    EXPECT_TRUE(resolve(options).workStealing);
    options.workStealing = false;
    EXPECT_FALSE(resolve(options).workStealing);
    options.workStealing = true;
    options.carriers = 1;
    EXPECT_FALSE(resolve(options).workStealing) << "nobody to steal from";
}

TEST(CarrierOptions, TheStealThresholdsHaveBounds) {
    const Variable noDepth("WEFT_STEAL_DEPTH", "");
    const Variable noAge("WEFT_STEAL_AGE_US", "");
    EXPECT_EQ(resolve({}).stealDepth, 4u);
    EXPECT_EQ(resolve({}).stealAge, microseconds(100));
    const Variable depth("WEFT_STEAL_DEPTH", "3");
    const Variable age("WEFT_STEAL_AGE_US", "0");
    EXPECT_EQ(resolve({}).stealDepth, 3u);
    EXPECT_EQ(resolve({}).stealAge, microseconds(0));
    CarrierOptions options;
    options.stealDepth = 0;
    EXPECT_EQ(refusal(options), "stealDepth is '0'; accepted: a whole number from 1 to 1000000");
    const Variable old("WEFT_STEAL_AGE_US", "1000001");
    EXPECT_EQ(refusal({}), "WEFT_STEAL_AGE_US is '1000001'; accepted: a whole number from 0 to 1000000");
}

TEST(CarrierGroup, ARefusedConfigurationLeavesNoThreadBehind) {
    CarrierOptions options;
    options.carriers = 5000;
    EXPECT_THROW(CarrierGroup group(options), ConfigurationError);
}

TEST(CarrierGroup, SeveralGroupsLiveSideBySideWithThreadsOfTheirName) {
    CarrierOptions first;
    first.carriers = 1;
    first.name = "warp";
    CarrierOptions second = first;
    second.name = "shuttle";
    CarrierGroup a(first);
    CarrierGroup b(second);
    const auto threadName = [] {
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof name);
        return std::string(name);
    };
    EXPECT_EQ(a.spawn(threadName).join(), "warp0");
    EXPECT_EQ(b.spawn(threadName).join(), "shuttle0");
    const int sum = a.spawn([&] { return b.spawn([] { return 20; }).join() + 1; }).join();
    EXPECT_EQ(sum, 21);
}

std::atomic<pid_t> handledOn{0};

TEST(CarrierGroup, ASignalOfTheProcessNeverRunsItsHandlerOnACarrier) {
    CarrierOptions options;
    options.carriers = 2;
    CarrierGroup group(options);
    struct sigaction action = {};
    struct sigaction former = {};
    action.sa_handler = [](int) { handledOn = ::gettid(); };
    ::sigaction(SIGUSR1, &action, &former);
    sigset_t only;
    sigset_t before;
    sigemptyset(&only);
    sigaddset(&only, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &only, &before);  // from now on only a carrier could take the signal
    handledOn = 0;
    group.spawn([] { ::kill(::getpid(), SIGUSR1); }).join();
    EXPECT_EQ(handledOn, 0);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(handledOn, ::gettid());
    ::sigaction(SIGUSR1, &former, nullptr);
}

}  // namespace
}  // namespace weft
