// Compares the table of rules in docs/reference/netty.md with the tests: every rule has a row, every test named by a
// row exists, and every test with the id of a channel rule is in the row of that rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace weft::test {
namespace {

using testing::IsEmpty;
using Names = std::vector<std::string>;

constexpr struct {
    const char* letters;
    int rules;
} sections[] = {{"TH", 5}, {"H", 9}, {"P", 6}, {"E", 8}, {"S", 6}, {"C", 7}, {"HC", 5},
                {"R", 6},  {"W", 8}, {"F", 4}, {"L", 6}, {"B", 3}, {"D", 8}};

std::string contentOf(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

Names all(const std::string& text, const std::regex& pattern, int group) {
    return Names(std::sregex_token_iterator(text.begin(), text.end(), pattern, group), std::sregex_token_iterator());
}

// "TH-1", and the names in backticks in its row.
std::map<std::string, Names> documented() {
    static const std::regex id(R"(\| ([A-Z]+-\d+|2\.17) \| )");
    static const std::regex name("`([^`]+)`");
    std::map<std::string, Names> found;
    std::istringstream lines(contentOf(WEFT_SOURCE_DIR "/docs/reference/netty.md"));
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, id, std::regex_constants::match_continuous)) continue;
        EXPECT_TRUE(found.emplace(match[1], all(line, name, 1)).second) << match[1] << " has two rows";
    }
    return found;
}

// "Suite.Name" of every test.
std::set<std::string> written() {
    static const std::regex test(R"((?:^|\n)(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\s*\))");
    std::set<std::string> found;
    for (const auto& file : std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/tests")) {
        if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
        const std::string text = contentOf(file.path());
        for (std::sregex_iterator match(text.begin(), text.end(), test), end; match != end; ++match) {
            found.insert((*match)[1].str() + "." + (*match)[2].str());
        }
    }
    return found;
}

// `name` may end with one star.
bool exists(const std::set<std::string>& tests, const std::string& name) {
    if (name.back() != '*') return tests.count(name) > 0;
    const std::string begin = name.substr(0, name.size() - 1);
    const auto found = tests.lower_bound(begin);
    return found != tests.end() && found->starts_with(begin);
}

TEST(NettyRules, EveryRuleHasARowWithATest) {
    const std::map<std::string, Names> rows = documented();
    Names missing;
    const auto demand = [&](const std::string& rule) {
        const auto row = rows.find(rule);
        if (row == rows.end() || row->second.empty()) missing.push_back(rule);
    };
    for (const auto& section : sections) {
        for (int rule = 1; rule <= section.rules; ++rule) demand(section.letters + ("-" + std::to_string(rule)));
    }
    demand("2.17");
    EXPECT_THAT(missing, IsEmpty())
        << "docs/reference/netty.md, Rules and their tests: a row with its tests is missing";
}

TEST(NettyRules, EveryTestThatARowNamesExists) {
    const std::set<std::string> tests = written();
    ASSERT_GT(tests.size(), 1000u) << "the pattern does not find the tests";
    Names missing;
    for (const auto& [rule, names] : documented()) {
        for (const std::string& name : names) {
            if (!exists(tests, name)) missing.push_back(rule + ": " + name);
        }
    }
    EXPECT_THAT(missing, IsEmpty()) << "docs/reference/netty.md names tests that are not there";
}

TEST(NettyRules, EveryTestWithTheIdOfARuleStandsInItsRow) {
    static const std::regex carrier(R"([A-Za-z]+\.(TH|H|P|E|S|C|HC|W|F|D|B|R|L|RC)(\d)_\w+)");
    const std::map<std::string, Names> rows = documented();
    Names missing;
    for (const std::string& test : written()) {
        std::smatch match;
        if (!std::regex_match(test, match, carrier)) continue;
        const std::string rule = match[1].str() + "-" + match[2].str();
        const auto row = rows.find(rule);
        bool listed = false;
        if (row != rows.end()) {
            for (const std::string& name : row->second) listed = listed || exists({test}, name);
        }
        if (!listed) missing.push_back(rule + ": " + test);
    }
    EXPECT_THAT(missing, IsEmpty()) << "docs/reference/netty.md: the rows of these rules do not name these tests";
}

}  // namespace
}  // namespace weft::test
