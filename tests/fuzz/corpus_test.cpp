// Replays the corpora: the inputs that the fuzzers found interesting or failing pass every target's checks.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "fuzz/targets.hpp"

namespace weft::fuzz {
namespace {

std::string contentOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class FuzzCorpus : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, PassesTheChecks) {
    std::size_t files = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(WEFT_FUZZ_CORPORA) / GetParam().name)) {
        SCOPED_TRACE(entry.path().string());
        GetParam().run(contentOf(entry.path()));
        ++files;
    }
    EXPECT_GE(files, 20u) << "of " << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(All, FuzzCorpus, testing::ValuesIn(targets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace weft::fuzz
