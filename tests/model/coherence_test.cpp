// One location: coherence, read-modify-writes, and the release sequences that depend on them.
#include "litmus.hpp"

namespace weft::model::litmus {
namespace {

// --- coherence

TEST(Litmus, ReadsOfOneLocationDoNotGoBack) {
    const auto tested = scenario({[](Shape& s) { s.x.store(1, relaxed), s.x.store(2, relaxed); },
                                  [](Shape& s) { s.a = s.x.load(relaxed), s.b = s.x.load(relaxed); }},
                                 2);
    EXPECT_EQ(outcomes(tested), (std::set<Outcome>{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(Litmus, AllThreadsSeeOneLocationChangeInOneOrder) {
    const auto tested = scenario({[](Shape& s) { s.x.store(1, relaxed); }, [](Shape& s) { s.x.store(2, relaxed); },
                                  [](Shape& s) { s.a = s.x.load(relaxed), s.b = s.x.load(relaxed); },
                                  [](Shape& s) { s.c = s.x.load(relaxed), s.d = s.x.load(relaxed); }},
                                 4);
    std::set<Outcome> expected;
    for (const auto& order : {Outcome{0, 1, 2}, Outcome{0, 2, 1}}) {
        for (std::size_t a = 0; a < 3; ++a) {
            for (std::size_t b = a; b < 3; ++b) {
                for (std::size_t c = 0; c < 3; ++c) {
                    for (std::size_t d = c; d < 3; ++d) expected.insert({order[a], order[b], order[c], order[d]});
                }
            }
        }
    }
    EXPECT_EQ(outcomes(tested), expected);
}

TEST(Litmus, AReadAndAWriteOfOneThreadKeepTheirOrder) {
    const auto finalValue = [](Shape& s) { s.b = s.x.load(relaxed); };
    const auto readThenWrite = scenario(
        {[](Shape& s) { s.a = s.x.load(relaxed), s.x.store(1, relaxed); }, [](Shape& s) { s.x.store(2, relaxed); }}, 2,
        finalValue);
    EXPECT_EQ(outcomes(readThenWrite), (std::set<Outcome>{{0, 1}, {0, 2}, {2, 1}}));
    const auto writeThenRead = scenario(
        {[](Shape& s) { s.x.store(1, relaxed), s.a = s.x.load(relaxed); }, [](Shape& s) { s.x.store(2, relaxed); }}, 2,
        finalValue);
    EXPECT_EQ(outcomes(writeThenRead), (std::set<Outcome>{{1, 1}, {1, 2}, {2, 2}}));
    const auto writeThenWrite = scenario({[](Shape& s) { s.x.store(1, relaxed), s.x.store(2, relaxed); }}, 2,
                                         [](Shape& s) { s.a = 0, s.b = s.x.load(relaxed); });
    EXPECT_EQ(outcomes(writeThenWrite), (std::set<Outcome>{{0, 2}}));
}

// --- read-modify-writes

TEST(Litmus, NoUpdateIsLost) {
    const auto tested =
        scenario({[](Shape& s) { s.a = s.x.fetch_add(1, relaxed); }, [](Shape& s) { s.b = s.x.fetch_add(1, relaxed); }},
                 3, [](Shape& s) { s.c = s.x.load(relaxed); });
    EXPECT_EQ(outcomes(tested), (std::set<Outcome>{{0, 1, 2}, {1, 0, 2}}));
}

TEST(Litmus, OnlyAWeakCompareExchangeFailsSpuriously) {
    const auto strong = scenario({[](Shape& s) {
                                     int expected = 0;
                                     s.a = s.x.compare_exchange_strong(expected, 1, relaxed, relaxed);
                                     s.b = expected;
                                 }},
                                 2);
    EXPECT_EQ(outcomes(strong), (std::set<Outcome>{{1, 0}}));
    const auto weak = scenario({[](Shape& s) {
                                   int expected = 0;
                                   s.a = s.x.compare_exchange_weak(expected, 1, relaxed, relaxed);
                                   s.b = expected;
                               }},
                               2);
    EXPECT_EQ(outcomes(weak), (std::set<Outcome>{{1, 0}, {0, 0}}));
}

TEST(Litmus, AFailedCompareExchangeMayReadAnOldStore) {
    const auto tested = scenario({[](Shape& s) { s.x.store(1, relaxed), s.x.store(2, relaxed); },
                                  [](Shape& s) {
                                      int expected = 7;
                                      s.x.compare_exchange_strong(expected, 9, relaxed, relaxed);
                                      s.a = expected;
                                      expected = 7;
                                      s.x.compare_exchange_strong(expected, 9, relaxed, relaxed);
                                      s.b = expected;
                                  }},
                                 2);
    EXPECT_EQ(outcomes(tested), (std::set<Outcome>{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

// --- release sequences (C++20: only read-modify-writes continue one)

// B changes the flag after A has released it; C acquires B's value and reads A's data.
Result afterB(Body changes) {
    return explore(options(), scenario({[](Shape& s) { s.data = 1, s.x.store(1, release); }, changes,
                                        [](Shape& s) {
                                            if (s.x.load(acquire) == 2) s.a = s.data;
                                        }},
                                       1));
}

TEST(Litmus, AReadModifyWriteContinuesAReleaseSequence) {
    const Result result = afterB([](Shape& s) {
        int expected = 1;
        s.x.compare_exchange_strong(expected, 2, relaxed, relaxed);
    });
    EXPECT_TRUE(result.passed() && result.complete) << result;
    EXPECT_EQ(result.outcomes, (std::set<Outcome>{{0}, {1}}));
}

TEST(Litmus, AStoreEndsAReleaseSequence) {
    const Result byAnother = afterB([](Shape& s) {
        if (s.x.load(relaxed) == 1) s.x.store(2, relaxed);
    });
    ASSERT_FALSE(byAnother.passed());
    EXPECT_EQ(byAnother.failure->kind, FailureKind::race);

    const Result byTheSame = explore(options(), scenario({[](Shape& s) {
                                                              s.data = 1;
                                                              s.x.store(1, release);
                                                              s.x.store(2, relaxed);
                                                          },
                                                          [](Shape& s) {
                                                              if (s.x.load(acquire) == 2) s.a = s.data;
                                                          }},
                                                         1));
    ASSERT_FALSE(byTheSame.passed());
    EXPECT_EQ(byTheSame.failure->kind, FailureKind::race);
}

TEST(Litmus, ASeqCstFenceDoesNotSynchronizePlainData) {
    const Result result = explore(
        options(),
        scenario({[](Shape& s) { s.data = 1, fence(seq_cst); }, [](Shape& s) { fence(seq_cst), s.a = s.data; }}, 1));
    ASSERT_FALSE(result.passed());
    EXPECT_EQ(result.failure->kind, FailureKind::race);
}

}  // namespace
}  // namespace weft::model::litmus
