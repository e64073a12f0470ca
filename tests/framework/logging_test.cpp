// initializeLogging(): a reader of stderr that stalls stops neither a carrier nor the end of the process.
#include <weft/framework/logging.hpp>

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <weft/scheduler/carrier_group.hpp>

#include <unistd.h>

namespace weft {
namespace {

TEST(LoggingDeathTest, AStalledReaderOfStderrStopsNeitherCarriersNorTheExit) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            int ends[2];
            if (::pipe(ends) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) std::exit(1);
            initializeLogging();
            {
                CarrierGroup group;
                for (std::size_t i = 0; i < group.size(); ++i) {
                    group.carrier(i)
                        .spawn([] {
                            for (int line = 0; line < 5'000; ++line) log(LogLevel::info, std::string(1'000, 'x'));
                        })
                        .join();
                }
            }
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
}

TEST(LoggingDeathTest, LinesOfTheLevelAndAboveGoToStderr) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            initializeLogging(LogLevel::warning);
            log(LogLevel::info, "not shown");
            log(LogLevel::warning, "shown");
            std::exit(0);
        },
        testing::ExitedWithCode(0), "^[-0-9]+T[:.0-9]+ warning weft: shown\n$");
}

}  // namespace
}  // namespace weft
