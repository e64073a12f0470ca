// docs/explanation/protocol.md and the twins: for each edge there is a test that weakens or breaks it, or a written
// reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace weft::model {
namespace {

struct Edge {
    const char* id;
    const char* provenBy;                  // a file of this directory, or nullptr
    const char* reason;                    // why it has no test
    std::vector<const char*> byHand = {};  // defects of that file that break it, where no order can be weakened
};

const Edge edges[] = {
    {"K1", "park_model_test.cpp", nullptr},
    {"K2", "park_model_test.cpp", nullptr},
    {"K3", "park_model_test.cpp", nullptr},
    {"K4", "park_model_test.cpp", nullptr, {"leavesByStore", "wakesByStore"}},
    {"K5", "park_model_test.cpp", nullptr},
    {"T0", "park_token_model_test.cpp", nullptr},  // relaxed already; the test passes the epoch on by its own store
    {"T1", "park_token_model_test.cpp", nullptr},
    {"T2", "park_token_model_test.cpp", nullptr},
    {"T3", "park_token_model_test.cpp", nullptr},
    {"T4",
     "group_shutdown_model_test.cpp",
     nullptr,
     {"savesLate", "resumesElsewhere"}},  // and with thieves: stolen_fibers_model_test
    {"X1", "park_token_model_test.cpp", nullptr},
    {"J1", "task_state_model_test.cpp", nullptr},
    {"J2", "task_state_model_test.cpp", nullptr},
    {"J3", "task_state_model_test.cpp", nullptr},
    {"J4", "task_state_model_test.cpp", nullptr},
    {"J5", "task_state_model_test.cpp", nullptr, {"retiresOnItsStack", "retiresAsTheLast"}},
    {"J6", "task_state_model_test.cpp", nullptr},
    {"Q1", "run_queue_model_test.cpp", nullptr},
    {"Q2", "run_queue_model_test.cpp", nullptr},
    {"R1", "park_model_test.cpp", nullptr},
    {"R2", "park_model_test.cpp", nullptr},
    {"P1", "park_token_model_test.cpp", nullptr},
    {"V1", "carrier_end_model_test.cpp", nullptr},
    {"S1", "scheduled_state_model_test.cpp", nullptr},
    {"E1", "child_list_model_test.cpp", nullptr, {"wakesOutside", "findsItBlindly", "interruptible"}},
    {"E2", "child_list_model_test.cpp", nullptr, {"cancelsBlindly", "freesBlindly", "asksFirst"}},
    {"C1", "completion_model_test.cpp", nullptr},
    {"C2",
     "completion_model_test.cpp",
     nullptr,
     {"listensBlindly", "waitsBlindly", "wakesOutside", "collectsOnly", "resumesTheAwake", "readsAfterResume"}},
    {"C3", "completion_model_test.cpp", nullptr, {"takesOutside"}},
    {"C4", "completion_model_test.cpp", nullptr, {"tellsTogether", "stopsBlindly"}},
    {"C5", "completion_model_test.cpp", nullptr},
    {"H1", "stealing_model_test.cpp", nullptr},
    {"H2", "stealing_model_test.cpp", nullptr},
    {"H3", "stealing_model_test.cpp", nullptr},
    {"H4", "stealing_model_test.cpp", nullptr, {"closesBlindly"}},
    {"D4",
     "steal_policy_model_test.cpp",
     nullptr,
     {"looksOnce", "looksFirst", "publishesQuietly", "movesQuietly", "submitsQuietly"}},
    {"D5", "steal_policy_model_test.cpp", nullptr, {"forgetsCalls"}},  // its orders are K4's
    {"D6", "steal_policy_model_test.cpp", nullptr},                    // by hand, KeepsSearches and NeverIdle
    {"D7", "steal_policy_model_test.cpp", nullptr, {"keepsWatching"}},
    {"F1", "trace_ring_model_test.cpp", nullptr},
    {"F2", "trace_ring_model_test.cpp", nullptr},
    {"F3", "trace_ring_model_test.cpp", nullptr},
    {"B1", "biased_count_model_test.cpp", nullptr},
    {"B2", "biased_count_model_test.cpp", nullptr},
    {"B3", "biased_count_model_test.cpp", nullptr, {"weightless", "anybodyOwns", "resignsLate"}},
    {"B4", "biased_count_model_test.cpp", nullptr},
    {"B5", "biased_count_model_test.cpp", nullptr, {"retainsBlindly", "checksFirst"}},  // and EndsWithoutTheLock
    {"L1", "carrier_end_model_test.cpp", nullptr, {"enlistsLate", "takesLate"}},        // and SettlesOnce
    {"L2", "group_shutdown_model_test.cpp", nullptr},                                   // by hand, DepartsInSilence
    {"L3", "carrier_end_model_test.cpp", nullptr},                                      // by hand, StaysOpen
    {"A1",
     "reactor_turn_model_test.cpp",
     nullptr,
     {"callsAsleep", "keepsTheGuard", "neverEnters", "sleepsAfterCalls", "neverLooks", "looksInTheGuard", "sleepsAgain",
      "sleepsAgainUnguarded", "neverGivesUp"}},
    {"A2", nullptr, "two words of a handler that is no template over the atomics; the pair of K1 and K3 is proven"},
    {"M1", "sync_model_test.cpp", nullptr},
    {"M2", "sync_model_test.cpp", nullptr},  // relaxed already; the compare-exchanges of M1 decide
    {"M3", "sync_model_test.cpp", nullptr},
    {"M4", "sync_model_test.cpp", nullptr},  // as M2
    {"M5", "sync_model_test.cpp", nullptr},
    {"M6", "sync_model_test.cpp", nullptr},  // as M2; and by hand, TakesItsTicketLate
    {"M7", "sync_model_test.cpp", nullptr},  // by hand, UnlocksFirst
    {"M8", "sync_model_test.cpp", nullptr},  // and by hand, FindsZeroBlindly
    {"M9", "sync_model_test.cpp", nullptr},
    {"Y1", "queue_model_test.cpp", nullptr},
    {"Y2", "queue_model_test.cpp", nullptr},  // and by hand, ClosesLate
    {"Y3", "queue_model_test.cpp", nullptr},  // and by hand, LocksAgain of select_model_test
    {"Z1", "cancel_model_test.cpp", nullptr},
    {"Z2", "cancel_model_test.cpp", nullptr},
    {"Z3", "cancel_model_test.cpp", nullptr, {"forgetsTheOuter", "keepsTheFlag"}},
    {"N1", nullptr, "one word; the loop decides again"},
    {"U1", nullptr, "one word, written once"},
    {"G1", nullptr, "one word, exchanged"},
    {"G3", nullptr, "one word, which each process exchanges once"},
    {"G2", nullptr, "one word; a signal handler cannot run in the explorer"},
};

// The first cells of the tables, and the beginnings of lines such as "P1:".
std::vector<std::string> documentedEdges() {
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/docs/explanation/protocol.md");
    std::vector<std::string> found;
    const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("| ")) line.erase(0, 2);
        const bool isId = line.size() > 3 && std::isupper(static_cast<unsigned char>(line[0])) && digit(line[1]);
        if (isId && (line.substr(2, 2) == " |" || line[2] == ':')) found.push_back(line.substr(0, 2));
    }
    return found;
}

TEST(Edges, EachDocumentedEdgeHasATwinOrAReason) {
    const std::vector<std::string> documented = documentedEdges();
    EXPECT_GE(documented.size(), 30u);
    for (const std::string& id : documented) {
        const bool listed =
            std::any_of(std::begin(edges), std::end(edges), [&](const Edge& edge) { return id == edge.id; });
        EXPECT_TRUE(listed) << "docs/explanation/protocol.md has an edge without a twin: " << id;
    }
}

// Finds "[K1]" in the comments of the sources.
std::set<std::string> edgesInTheSource() {
    namespace fs = std::filesystem;
    static const std::regex mark("\\[([A-Z][0-9])\\]");
    std::set<std::string> found;
    for (const char* room : {"scheduler", "pipeline", "transports", "framework"}) {
        for (const fs::directory_entry& file : fs::recursive_directory_iterator(fs::path(WEFT_SOURCE_DIR) / room)) {
            if (file.path().extension() != ".hpp" && file.path().extension() != ".cpp") continue;
            std::ifstream in(file.path());
            for (std::string line; std::getline(in, line);) {
                for (std::sregex_iterator at(line.begin(), line.end(), mark), end; at != end; ++at) {
                    found.insert((*at)[1]);
                }
            }
        }
    }
    return found;
}

TEST(Edges, TheSourceNamesEachDocumentedEdgeAndNoOther) {
    EXPECT_THAT(edgesInTheSource(), testing::UnorderedElementsAreArray(documentedEdges()));
}

std::string contentOf(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The text of a file of this directory and of all files that it includes from this directory and from the library.
std::string withIncludes(const std::filesystem::path& path, std::set<std::string>& seen) {
    namespace fs = std::filesystem;
    static const std::regex include("#include (\"([^\"]+)\"|<(weft/[^>]+)>)");
    if (!fs::exists(path) || !seen.insert(path.string()).second) return {};
    const std::string own = contentOf(path);
    std::string all = own;
    const fs::path root(WEFT_SOURCE_DIR);
    for (std::sregex_iterator at(own.begin(), own.end(), include), end; at != end; ++at) {
        if ((*at)[2].matched) all += withIncludes(root / "tests" / "model" / (*at)[2].str(), seen);
        if ((*at)[2].matched) all += withIncludes(root / "framework" / "asio" / "src" / (*at)[2].str(), seen);
        if ((*at)[3].matched) all += withIncludes(root / "scheduler" / "include" / (*at)[3].str(), seen);
        if ((*at)[3].matched) all += withIncludes(root / "pipeline" / "include" / (*at)[3].str(), seen);
    }
    return all;
}

// The text with the twins of a protocol: its model test, and its twins test if that is a separate file.
std::string twinsOf(const std::string& file) {
    const std::filesystem::path room = std::filesystem::path(WEFT_SOURCE_DIR) / "tests" / "model";
    std::string apart = file;
    apart.replace(apart.find("_model_test"), std::string("_model_test").size(), "_twins_test");
    return contentOf(room / file) + contentOf(room / apart);
}

// The test that proves an edge weakens the orders of the operation with its mark, in the shipped header or in the
// scenario's copy of it, or breaks the operation by hand in a twin of that name.
TEST(Edges, TheTestThatProvesAnEdgeRunsItsOperation) {
    const std::vector<std::string> documented = documentedEdges();
    for (const Edge& edge : edges) {
        SCOPED_TRACE(edge.id);
        EXPECT_THAT(documented, testing::Contains(edge.id));
        ASSERT_TRUE(edge.provenBy != nullptr || edge.reason != nullptr);
        if (edge.provenBy == nullptr) continue;
        std::set<std::string> seen;
        const std::string text =
            withIncludes(std::filesystem::path(WEFT_SOURCE_DIR) / "tests" / "model" / edge.provenBy, seen);
        ASSERT_FALSE(text.empty()) << edge.provenBy << " does not exist";
        EXPECT_NE(text.find("[" + std::string(edge.id) + "]"), std::string::npos)
            << edge.provenBy << " includes no operation of this edge";
        const std::string twins = twinsOf(edge.provenBy);
        const bool weakens = twins.find("expectOrdersNeeded(") != std::string::npos ||
                             twins.find("expectKilledTogether(") != std::string::npos;
        EXPECT_TRUE(weakens) << edge.provenBy << " weakens no order";
        for (const char* twin : edge.byHand) {
            EXPECT_NE(twins.find("expectKilled("), std::string::npos);
            EXPECT_NE(twins.find("Defect::" + std::string(twin)), std::string::npos) << "no twin " << twin;
        }
    }
}

}  // namespace
}  // namespace weft::model
