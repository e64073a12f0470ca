// Random programs of fibers and threads over the primitives of weft::sync, scopes and cancellations: everything that
// they do is explained by sequential models, and every program ends. README.md says how to repeat a failure.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "property/program.hpp"
#include "property/world.hpp"
#include "support/log_capture.hpp"

namespace weft::property {
namespace {

std::optional<std::uint32_t> environment(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    return static_cast<std::uint32_t>(std::stoul(text));
}

std::string faultsOf(const Program& program, unsigned carriers) {
    World world(program, carriers);
    world.run();
    return world.faults();
}

// Removes operations as long as the program still fails.
Program smallest(Program program) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t i = sizeOf(program); i-- > 0;) {
            Program next = without(program, i);
            if (faultsOf(next, 1).empty()) continue;
            program = std::move(next);
            smaller = true;
        }
    }
    return program;
}

void check(std::uint32_t seed, unsigned carriers, unsigned threads) {
    Program program = makeProgram(seed, threads);
    std::string faults = faultsOf(program, carriers);
    if (faults.empty()) return;
    if (carriers == 1 && threads == 0) {
        program = smallest(program);
        faults = faultsOf(program, carriers);
    }
    ADD_FAILURE() << faults
                  << "in this program, after operations were removed where it runs on one carrier; repeat with "
                  << "WEFT_PROPERTY_SEED=" << seed << ":\n"
                  << describe(program);
}

void checkAll(std::uint32_t programs, unsigned carriers, unsigned threads) {
    const test::LogCapture log;  // of failures of children that a TaskScope does not rethrow
    if (const auto seed = environment("WEFT_PROPERTY_SEED")) return check(*seed, carriers, threads);
    const std::uint32_t count = environment("WEFT_PROPERTY_PROGRAMS").value_or(programs);
    for (std::uint32_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) check(seed, carriers, threads);
}

TEST(RandomPrograms, FibersOfOneCarrierDoWhatTheModelsAllow) {
    checkAll(400, 1, 0);
}

TEST(RandomPrograms, FibersOfTwoCarriersDoWhatTheModelsAllow) {
    checkAll(150, 2, 0);
}

TEST(RandomPrograms, FibersAndThreadsDoWhatTheModelsAllow) {
    checkAll(150, 2, 2);
}

}  // namespace
}  // namespace weft::property
