// An event loop's inbox and stop request (docs/protocol.md section 8), in a loop that sleeps as EventLoop does: a post
// runs or is refused, and neither it nor the stop is slept through.
#include <weft/scheduler/detail/carrier_core.hpp>
#include <weft/scheduler/detail/loop_inbox.hpp>

#include "protocol_test.hpp"

namespace weft::model {
namespace {

using weft::detail::SleepKind;

struct Work {
    Link<Work> next;
};

enum class Defect { none, looksOnce, closesBlindly };

template <Defect defect>
class Loop {
  public:
    // --- any thread
    void post(int task) {
        if (!inbox_.post(task)) return;
        ++accepted_;
        wakeIfParked();
    }
    void stop() {
        inbox_.requestStop();
        wakeIfParked();
    }

    // --- the loop
    void run() {
        while (!inbox_.stopRequested()) turn(true);
        inbox_.noteStop();
        turn(false);
        inbox_.close([this](Plain<int>&& task) {
            if (defect != Defect::closesBlindly) runTask(task);
        });
    }

    void checkAllRan() const { assertThat(ran_ == accepted_, "what was accepted has run"); }

  private:
    void turn(bool maySleep) {
        if (maySleep) sleep();
        inbox_.takeAll([this](Plain<int>&& task) { runTask(task); });
    }
    void runTask(Plain<int>& task) {
        assertThat(task == 1, "what was posted");
        ++ran_;
    }
    void sleep() {
        bool looked = false;
        const auto moreWork = [&] {
            return !(defect == Defect::looksOnce && std::exchange(looked, true)) && inbox_.hasWork();
        };
        if (core_.trySleep(SleepKind::poller, moreWork)) wakeFd_.wait();
        core_.leaveSleep();
    }
    void wakeIfParked() {
        if (core_.wake() == SleepKind::poller) wakeFd_.signal();
    }

    detail::BasicLoopInbox<Atomics, Plain<int>> inbox_;
    detail::BasicCarrierCore<Atomics, Work, 2> core_;
    Event wakeFd_{"wakeFd"};
    int accepted_ = 0;
    int ran_ = 0;
};

template <Defect defect>
Scenario postsAndStop(int posters) {
    return [=](ModelRun& run) {
        run.name({"inbox", "stop", "park", "carrierStop", "turnRequested", "readyPoller", "visitors", "carrierTray"});
        auto& loop = run.make<Loop<defect>>();
        static constexpr const char* names[] = {"poster1", "poster2"};
        for (int i = 0; i < posters; ++i) run.thread(names[i], [&loop] { loop.post(1); });
        run.thread("stopper", [&loop] { loop.stop(); });
        run.thread("loop", [&loop] { loop.run(); });
        run.finally([&loop] { loop.checkAllRan(); });
    };
}

template <Defect defect = Defect::none>
std::vector<Case> cases() {
    return {makeCase("one poster", postsAndStop<defect>(1)), makeCase("two posters", postsAndStop<defect>(2))};
}

constexpr const char* protocol = "loop inbox";

TEST(LoopInboxModel, NothingIsSleptThroughWithinThreePreemptions) {
    exploreAll(protocol, cases(), {.preemptions = 3, .executions = 300'000});
}
TEST(LoopInboxModel, NothingIsSleptThroughInAnyInterleaving) {
    exploreAll(protocol, cases(), {.search = Search::full, .executions = 100'000});
}
TEST(LoopInboxModel, NothingIsSleptThroughAtRandom) {
    exploreAll(protocol, cases(), {.search = Search::random, .executions = 30'000});
    exploreAll(protocol, cases(), {.search = Search::pct, .executions = 30'000});
}

// --- twins

constexpr Survivor survivors[] = {
    {"in_tray push compare_exchange.success seq_cst->release", "the stop wakes the loop in every case: see park_model_test"},
    {"in_tray push compare_exchange.success seq_cst->acq_rel", "as above"},
    {"in_tray empty load *", "as above"},
    {"loop_inbox stopRequested load *", "a flag: nothing is published with it, and a stale look is repeated"},
};

TEST(LoopInboxModel, EveryOrderIsNeeded) {
    expectOrdersNeeded(protocol, cases(), survivors, {.files = {"loop_inbox", "in_tray"}});
}
TEST(LoopInboxModel, ALoopThatLooksOnceSleepsThroughItsStop) {
    expectKilled("looks once", cases<Defect::looksOnce>());
}
TEST(LoopInboxModel, ALoopThatClosesBlindlyForgetsAPost) {
    expectKilled("closes blindly", cases<Defect::closesBlindly>());
}

}  // namespace
}  // namespace weft::model
