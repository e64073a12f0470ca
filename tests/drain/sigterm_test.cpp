// SIGTERM under load, repeatedly: no answer is lost and no connection ends with a reset. Ten rounds by default;
// WEFT_SIGTERMS=100 runs more.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "drain/load_client.hpp"
#include "examples/program.hpp"

namespace weft::test {
namespace {

unsigned wantedRounds() {
    const char* text = std::getenv("WEFT_SIGTERMS");
    if (text == nullptr || *text == '\0') return 10;
    unsigned rounds = 0;
    const auto result = std::from_chars(text, text + std::strlen(text), rounds);
    if (result.ec != std::errc() || *result.ptr != '\0' || rounds == 0) {
        throw std::invalid_argument("WEFT_SIGTERMS is '" + std::string(text) +
                                    "'; accepted: a number from 1, such as 100");
    }
    return rounds;
}

constexpr LoadShape shapes[] = {
    {"one by one", 1, 0},
    {"pipelined", 16, 0},
    {"a connection each", 1, 1},
    {"idle", 1, 0, true},
};
constexpr unsigned clientsOfEach = 3;

struct Outcome {
    std::size_t answered = 0;
    std::vector<std::string> wrong;
};

Outcome oneRound(std::size_t answersBefore, const char* carriers) {
    Program server("http_server", {"--listen", "127.0.0.1:0", "--carriers", carriers});
    Round round{server.listening()};
    std::deque<LoadClient> clients;
    std::vector<std::thread> threads;
    for (const LoadShape& shape : shapes) {
        for (unsigned i = 0; i < clientsOfEach; ++i) {
            threads.emplace_back([&client = clients.emplace_back(round, shape)] { client.run(); });
        }
    }
    while (round.answers < answersBefore) std::this_thread::yield();
    round.signalled = true;
    server.signal(SIGTERM);
    for (auto& thread : threads) thread.join();

    Outcome outcome;
    for (const LoadClient& client : clients) {
        outcome.answered += client.answered;
        outcome.wrong.insert(outcome.wrong.end(), client.wrong.begin(), client.wrong.end());
    }
    if (const int status = server.exitStatus(); status != 0)
        outcome.wrong.push_back("exit status " + std::to_string(status));
    if (!server.complaints().empty()) outcome.wrong.push_back(server.complaints());
    return outcome;
}

TEST(Sigterm, UnderLoadLosesNoAnswer) {
    const unsigned rounds = wantedRounds();
    const unsigned seed = std::random_device{}();
    std::minstd_rand random(seed);
    std::size_t answered = 0;
    std::size_t awaited = 0;  // before the signals
    for (unsigned i = 0; i < rounds; ++i) {
        const std::size_t answersBefore = 1 + random() % 2000;
        const Outcome outcome = oneRound(answersBefore, i % 2 == 0 ? "1" : "2");
        answered += outcome.answered;
        awaited += answersBefore;
        for (const std::string& wrong : outcome.wrong) {
            ADD_FAILURE() << "round " << i << ", seed " << seed << ", after " << answersBefore << " answers: " << wrong;
        }
    }
    EXPECT_GE(answered, awaited) << "the clients have counted fewer answers than there were before the signals";
    EXPECT_GT(answered, 0u) << "no request was answered: nothing was under load";
    std::printf("%u times SIGTERM, %zu answers\n", rounds, answered);
}

}  // namespace
}  // namespace weft::test
