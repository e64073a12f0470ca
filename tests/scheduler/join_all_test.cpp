// joinAll(): the results in the order of the functions, or the first error once all have ended.
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include <weft/scheduler/carrier_group.hpp>
#include <weft/scheduler/task_scope.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "support/loop_without_io.hpp"

namespace weft {
namespace {

TEST(JoinAll, ReturnsTheResultsInOrder) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([] {
            const auto [number, nothing, text] = joinAll([] { return 1; }, [] {}, [] { return std::string("two"); });
            EXPECT_EQ(number, 1);
            static_cast<void>(nothing);
            EXPECT_EQ(text, "two");
            bool ran = false;
            joinAll([&] { ran = true; }, [] {});
            EXPECT_TRUE(ran);
        })
        .join();
}

TEST(JoinAll, TheFirstErrorCancelsTheOthersAndIsThrownAfterTheirEnd) {
    CarrierGroup group(test::oneCarrier());
    group
        .spawn([] {
            bool ended = false;
            try {
                joinAll(
                    [&] {
                        ErrorCode error;
                        thisFiber::sleepFor(std::chrono::hours(1), error);
                        ended = true;
                        return 1;
                    },
                    []() -> int { throw std::runtime_error("no"); });
                ADD_FAILURE() << "no exception";
            } catch (const std::runtime_error& error) {
                EXPECT_STREQ(error.what(), "no");
            }
            EXPECT_TRUE(ended);
        })
        .join();
}

}  // namespace
}  // namespace weft
