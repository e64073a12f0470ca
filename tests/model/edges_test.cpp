// docs/protocol.md and the twins: each edge has a test that weakens or breaks it, or a written reason why not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace weft::model {
namespace {

struct Edge {
    const char* id;
    const char* provenBy;  // a file of this room, or nullptr
    const char* reason;    // why it has none
};

constexpr Edge edges[] = {
    {"K1", "park_model_test.cpp", nullptr},
    {"K2", "park_model_test.cpp", nullptr},
    {"K3", "park_model_test.cpp", nullptr},
    {"K4", "park_model_test.cpp", nullptr},  // its exchange, by hand: leavesByStore, wakesByStore
    {"K5", "park_model_test.cpp", nullptr},
    {"T0", "park_token_model_test.cpp", nullptr},  // relaxed already; how the epoch is told is the test's own store
    {"T1", "park_token_model_test.cpp", nullptr},
    {"T2", "park_token_model_test.cpp", nullptr},
    {"T3", "park_token_model_test.cpp", nullptr},
    {"X1", "park_token_model_test.cpp", nullptr},
    {"J1", "task_state_model_test.cpp", nullptr},
    {"J2", "task_state_model_test.cpp", nullptr},
    {"J3", "task_state_model_test.cpp", nullptr},
    {"J4", "task_state_model_test.cpp", nullptr},
    {"Q1", "run_queue_model_test.cpp", nullptr},
    {"Q2", "run_queue_model_test.cpp", nullptr},
    {"R1", "park_model_test.cpp", nullptr},
    {"R2", "park_model_test.cpp", nullptr},
    {"P1", "park_token_model_test.cpp", nullptr},
    {"V1", "carrier_end_model_test.cpp", nullptr},
    {"S1", "scheduled_state_model_test.cpp", nullptr},
    {"C1", "completion_model_test.cpp", nullptr},
    {"C2", "completion_model_test.cpp", nullptr},  // by hand: listensBlindly, waitsBlindly, wakesOutside
    {"C3", "completion_model_test.cpp", nullptr},  // by hand: takesOutside
    {"C4", "completion_model_test.cpp", nullptr},  // by hand: tellsTogether, stopsBlindly
    {"C5", "completion_model_test.cpp", nullptr},
    {"H1", "stealing_model_test.cpp", nullptr},
    {"H2", "stealing_model_test.cpp", nullptr},
    {"H3", "stealing_model_test.cpp", nullptr},
    {"H4", "stealing_model_test.cpp", nullptr},  // relaxed already; by hand: closesBlindly
    {"B1", "biased_count_model_test.cpp", nullptr},
    {"B2", "biased_count_model_test.cpp", nullptr},
    {"B3", "biased_count_model_test.cpp", nullptr},  // relaxed already; by hand: weightless, anybodyOwns, resignsLate
    {"B4", "biased_count_model_test.cpp", nullptr},
};

// The first cells of the tables, and what begins a line as "P1:".
std::vector<std::string> documentedEdges() {
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/docs/protocol.md");
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
        EXPECT_TRUE(listed) << "docs/protocol.md has an edge without a twin: " << id;
    }
}

// "[K1]" in the comments of the rooms' sources.
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

TEST(Edges, EachListedEdgeExists) {
    const std::vector<std::string> documented = documentedEdges();
    for (const Edge& edge : edges) {
        EXPECT_THAT(documented, testing::Contains(edge.id));
        ASSERT_TRUE(edge.provenBy != nullptr || edge.reason != nullptr) << edge.id;
        if (edge.provenBy == nullptr) continue;
        std::ifstream test(std::string(WEFT_SOURCE_DIR) + "/tests/model/" + edge.provenBy);
        EXPECT_TRUE(test.good()) << edge.provenBy;
    }
}

}  // namespace
}  // namespace weft::model
