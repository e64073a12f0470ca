// ExhaustionTest: a fixture that runs a scenario once for each of its allocations, with that one failing.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <weft/scheduler/errors.hpp>
#include <weft/scheduler/log.hpp>
#include <weft/testing/leak_guard.hpp>

#include "exhaustion/allocation_faults.hpp"

namespace weft::exhaustion {

class ExhaustionTest : public test::LeakGuard {
  protected:
    static constexpr std::chrono::seconds timeout{20};  // only a leaked block reaches it

    // Another thread may free blocks a little after it has answered, even those of the previous run. So the permitted
    // number of live blocks only shrinks. The report of a failure allocates blocks of its own.
    static void awaitLive(std::size_t& most) {
        if (HasFailure()) return;
        const auto end = std::chrono::steady_clock::now() + timeout;
        while (liveAllocations() > most && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        const std::size_t live = liveAllocations();
        EXPECT_LE(live, most) << "blocks are left over";
        most = std::min(most, live);
    }
    void SetUp() override {
        setLogSink([](LogLevel, std::string_view) noexcept {});
    }
    void TearDown() override { setLogSink(nullptr); }

    // Runs the scenario with allocation 1, 2, ... failing until there are no more. Fails when there are fewer than
    // `least`: a sweep over no allocation proves nothing.
    void sweep(std::uint64_t least, const std::function<void()>& scenario) {
        ASSERT_GE(least, 1u);
        EXPECT_GE(allocationsOf(scenario), least) << "the scenario no longer allocates what it did";
    }

  private:
    std::uint64_t allocationsOf(const std::function<void()>& scenario) {
        scenario();  // allocates what is created once and kept
        std::size_t most = 0;
        for (std::uint64_t number = 1;; ++number) {
            SCOPED_TRACE("allocation " + std::to_string(number));
            if (number == 1) most = liveAllocations();
            bool reached = false;
            {
                const FailingAllocation failing(number);
                try {
                    scenario();
                } catch (const std::bad_alloc&) {
                } catch (const std::system_error&) {  // a thread or a descriptor was refused
                } catch (const SystemError&) {
                }
                reached = failing.hasFailed();
            }
            awaitLive(most);
            if (!reached || HasFailure()) return number - 1;
        }
    }
};

}  // namespace weft::exhaustion
