// The memory model itself: for each classic shape, the explorer finds exactly the outcomes that C++20 allows.
#include "litmus.hpp"

namespace weft::model::litmus {
namespace {

// --- store buffering: both threads miss the other's store

Scenario storeBuffering(std::memory_order write, std::memory_order read) {
    return scenario({[=](Shape& s) { s.x.store(1, write), s.a = s.y.load(read); },
                     [=](Shape& s) { s.y.store(1, write), s.b = s.x.load(read); }},
                    2);
}

Scenario storeBufferingFenced(std::memory_order first, std::memory_order second) {
    return scenario({[=](Shape& s) { s.x.store(1, relaxed), fence(first), s.a = s.y.load(relaxed); },
                     [=](Shape& s) { s.y.store(1, relaxed), fence(second), s.b = s.x.load(relaxed); }},
                    2);
}

TEST(Litmus, StoreBufferingIsForbiddenBySeqCstOnly) {
    EXPECT_EQ(outcomes(storeBuffering(relaxed, relaxed)), allOf(2));
    EXPECT_EQ(outcomes(storeBuffering(release, acquire)), allOf(2));
    EXPECT_EQ(outcomes(storeBuffering(seq_cst, seq_cst)), allBut(2, {0, 0}));
}

TEST(Litmus, StoreBufferingIsAllowedWhenOneSideIsNotSeqCst) {
    EXPECT_EQ(outcomes(storeBuffering(seq_cst, acquire)), allOf(2));
    EXPECT_EQ(outcomes(storeBuffering(release, seq_cst)), allOf(2));
}

TEST(Litmus, StoreBufferingIsForbiddenByTwoSeqCstFences) {
    EXPECT_EQ(outcomes(storeBufferingFenced(seq_cst, seq_cst)), allBut(2, {0, 0}));
    EXPECT_EQ(outcomes(storeBufferingFenced(seq_cst, acq_rel)), allOf(2));
    EXPECT_EQ(outcomes(storeBufferingFenced(acq_rel, acq_rel)), allOf(2));
}

TEST(Litmus, StoreBufferingIsForbiddenByAFenceOnOneSideAndSeqCstAccessesOnTheOther) {
    const auto mixed = [](std::memory_order write, std::memory_order read) {
        return scenario({[=](Shape& s) { s.x.store(1, write), s.a = s.y.load(read); },
                         [](Shape& s) { s.y.store(1, relaxed), fence(seq_cst), s.b = s.x.load(relaxed); }},
                        2);
    };
    EXPECT_EQ(outcomes(mixed(seq_cst, seq_cst)), allBut(2, {0, 0}));
    EXPECT_EQ(outcomes(mixed(release, seq_cst)), allOf(2));
    EXPECT_EQ(outcomes(mixed(seq_cst, acquire)), allOf(2));
}

TEST(Litmus, StoreBufferingWithExchangesNeedsSeqCstToo) {
    const auto exchanged = [](std::memory_order order, std::memory_order read) {
        return scenario({[=](Shape& s) { s.x.exchange(1, order), s.a = s.y.load(read); },
                         [=](Shape& s) { s.y.exchange(1, order), s.b = s.x.load(read); }},
                        2);
    };
    EXPECT_EQ(outcomes(exchanged(acq_rel, acquire)), allOf(2));
    EXPECT_EQ(outcomes(exchanged(acq_rel, seq_cst)), allOf(2));
    EXPECT_EQ(outcomes(exchanged(seq_cst, acquire)), allOf(2));
    EXPECT_EQ(outcomes(exchanged(seq_cst, seq_cst)), allBut(2, {0, 0}));
}

// --- message passing: the flag is seen (a), the data is not (b)

Scenario messagePassing(std::memory_order write, std::memory_order read) {
    return scenario({[=](Shape& s) { s.x.store(1, relaxed), s.y.store(1, write); },
                     [=](Shape& s) { s.a = s.y.load(read), s.b = s.x.load(relaxed); }},
                    2);
}

TEST(Litmus, MessagePassingNeedsReleaseAndAcquire) {
    EXPECT_EQ(outcomes(messagePassing(relaxed, relaxed)), allOf(2));
    EXPECT_EQ(outcomes(messagePassing(release, relaxed)), allOf(2));
    EXPECT_EQ(outcomes(messagePassing(relaxed, acquire)), allOf(2));
    EXPECT_EQ(outcomes(messagePassing(release, acquire)), allBut(2, {1, 0}));
    EXPECT_EQ(outcomes(messagePassing(seq_cst, seq_cst)), allBut(2, {1, 0}));
}

TEST(Litmus, MessagePassingByFences) {
    const auto fenced = [](std::memory_order writer, std::memory_order reader) {
        return scenario({[=](Shape& s) { s.x.store(1, relaxed), fence(writer), s.y.store(1, relaxed); },
                         [=](Shape& s) { s.a = s.y.load(relaxed), fence(reader), s.b = s.x.load(relaxed); }},
                        2);
    };
    EXPECT_EQ(outcomes(fenced(release, acquire)), allBut(2, {1, 0}));
    EXPECT_EQ(outcomes(fenced(seq_cst, seq_cst)), allBut(2, {1, 0}));
    EXPECT_EQ(outcomes(fenced(acquire, acquire)), allOf(2));
    EXPECT_EQ(outcomes(fenced(release, release)), allOf(2));
}

TEST(Litmus, MessagePassingByAFenceAndAnOrderedAccess) {
    const auto fenceThenAcquire =
        scenario({[](Shape& s) { s.x.store(1, relaxed), fence(release), s.y.store(1, relaxed); },
                  [](Shape& s) { s.a = s.y.load(acquire), s.b = s.x.load(relaxed); }},
                 2);
    const auto releaseThenFence =
        scenario({[](Shape& s) { s.x.store(1, relaxed), s.y.store(1, release); },
                  [](Shape& s) { s.a = s.y.load(relaxed), fence(acquire), s.b = s.x.load(relaxed); }},
                 2);
    EXPECT_EQ(outcomes(fenceThenAcquire), allBut(2, {1, 0}));
    EXPECT_EQ(outcomes(releaseThenFence), allBut(2, {1, 0}));
}

// --- write to read causality: B sees A's store and notifies C

TEST(Litmus, CausalityIsTransitiveThroughReleaseAndAcquire) {
    const auto causality = [](std::memory_order write, std::memory_order read) {
        return scenario(
            {[=](Shape& s) { s.x.store(1, write); }, [=](Shape& s) { s.a = s.x.load(read), s.y.store(1, write); },
             [=](Shape& s) { s.b = s.y.load(read), s.c = s.x.load(relaxed); }},
            3);
    };
    EXPECT_EQ(outcomes(causality(relaxed, relaxed)), allOf(3));
    EXPECT_EQ(outcomes(causality(release, acquire)), allBut(3, {1, 1, 0}));
}

TEST(Litmus, ReadToWriteCausalityIsForbiddenBySeqCstFences) {
    const auto causality = [](std::memory_order order) {
        return scenario({[](Shape& s) { s.x.store(1, relaxed); },
                         [=](Shape& s) { s.a = s.x.load(relaxed), fence(order), s.b = s.y.load(relaxed); },
                         [=](Shape& s) { s.y.store(1, relaxed), fence(order), s.c = s.x.load(relaxed); }},
                        3);
    };
    EXPECT_EQ(outcomes(causality(seq_cst)), allBut(3, {1, 0, 0}));
    EXPECT_EQ(outcomes(causality(acq_rel)), allOf(3));
}

// --- independent reads of independent writes: B and D see the stores in different orders

Scenario independentReads(std::memory_order write, std::memory_order read) {
    return scenario(
        {[=](Shape& s) { s.x.store(1, write); }, [=](Shape& s) { s.a = s.x.load(read), s.b = s.y.load(read); },
         [=](Shape& s) { s.y.store(1, write); }, [=](Shape& s) { s.c = s.y.load(read), s.d = s.x.load(read); }},
        4);
}

TEST(Litmus, IndependentReadsAgreeOnlyUnderSeqCst) {
    EXPECT_EQ(outcomes(independentReads(relaxed, relaxed)), allOf(4));
    EXPECT_EQ(outcomes(independentReads(release, acquire)), allOf(4));
    EXPECT_EQ(outcomes(independentReads(seq_cst, acquire)), allOf(4));
    EXPECT_EQ(outcomes(independentReads(seq_cst, seq_cst)), allBut(4, {1, 0, 1, 0}));
}

TEST(Litmus, IndependentSeqCstReadsAgreeWhateverTheWrites) {
    EXPECT_EQ(outcomes(independentReads(release, seq_cst)), allBut(4, {1, 0, 1, 0}));
}

TEST(Litmus, IndependentReadsAgreeUnderSeqCstFences) {
    const auto fenced = [](std::memory_order order) {
        return scenario({[](Shape& s) { s.x.store(1, relaxed); },
                         [=](Shape& s) { s.a = s.x.load(relaxed), fence(order), s.b = s.y.load(relaxed); },
                         [](Shape& s) { s.y.store(1, relaxed); },
                         [=](Shape& s) { s.c = s.y.load(relaxed), fence(order), s.d = s.x.load(relaxed); }},
                        4);
    };
    EXPECT_EQ(outcomes(fenced(seq_cst)), allBut(4, {1, 0, 1, 0}));
    EXPECT_EQ(outcomes(fenced(acquire)), allOf(4));
}

// --- two times two writes: both first stores remain in the end

Scenario twoPlusTwoWrites(std::memory_order order) {
    return scenario({[=](Shape& s) { s.x.store(1, order), s.y.store(2, order); },
                     [=](Shape& s) { s.y.store(1, order), s.x.store(2, order); }},
                    2, [](Shape& s) { s.a = s.x.load(relaxed), s.b = s.y.load(relaxed); });
}

TEST(Litmus, TwoPlusTwoWritesIsForbiddenBySeqCstOnly) {
    const std::set<Outcome> sequentialOnes{{2, 2}, {1, 2}, {2, 1}};
    std::set<Outcome> all = sequentialOnes;
    all.insert({1, 1});
    EXPECT_EQ(outcomes(twoPlusTwoWrites(relaxed)), all);
    EXPECT_EQ(outcomes(twoPlusTwoWrites(release)), all);
    EXPECT_EQ(outcomes(twoPlusTwoWrites(seq_cst)), sequentialOnes);
}

TEST(Litmus, WithoutInsertionStoresAreOrderedAsTheyAreExecuted) {
    Options chosen = options();
    chosen.memory.insertStores = false;
    EXPECT_THAT(explore(chosen, twoPlusTwoWrites(relaxed)).outcomes,
                testing::UnorderedElementsAre(Outcome{2, 2}, Outcome{1, 2}, Outcome{2, 1}));
}

// --- load buffering: both loads see the other thread's later store

Scenario loadBuffering(std::memory_order read, std::memory_order write) {
    return scenario({[=](Shape& s) { s.a = s.x.load(read), s.y.store(1, write); },
                     [=](Shape& s) { s.b = s.y.load(read), s.x.store(1, write); }},
                    2);
}

TEST(Litmus, LoadBufferingIsAllowedUnlessBothEdgesSynchronize) {
    EXPECT_EQ(outcomesWithSpeculation(loadBuffering(relaxed, relaxed)), allOf(2));
    EXPECT_EQ(outcomesWithSpeculation(loadBuffering(relaxed, release)), allOf(2));
    EXPECT_EQ(outcomesWithSpeculation(loadBuffering(acquire, relaxed)), allOf(2));
    EXPECT_EQ(outcomesWithSpeculation(loadBuffering(acquire, release)), allBut(2, {1, 1}));
    EXPECT_EQ(outcomesWithSpeculation(loadBuffering(seq_cst, seq_cst)), allBut(2, {1, 1}));
}

TEST(Litmus, LoadBufferingNeedsSpeculation) {
    EXPECT_EQ(outcomes(loadBuffering(relaxed, relaxed)), allBut(2, {1, 1}));
}

TEST(Litmus, LoadBufferingIsForbiddenByFencesThatSynchronize) {
    const auto fenced = [](std::memory_order order) {
        return scenario({[=](Shape& s) { s.a = s.x.load(relaxed), fence(order), s.y.store(1, relaxed); },
                         [=](Shape& s) { s.b = s.y.load(relaxed), fence(order), s.x.store(1, relaxed); }},
                        2);
    };
    EXPECT_EQ(outcomesWithSpeculation(fenced(acq_rel)), allBut(2, {1, 1}));
    EXPECT_EQ(outcomesWithSpeculation(fenced(seq_cst)), allBut(2, {1, 1}));
    EXPECT_EQ(outcomesWithSpeculation(fenced(acquire)), allOf(2));
}

TEST(Litmus, LoadBufferingIsForbiddenByASecondLoadThatSynchronizes) {
    const auto readTwice = [](std::memory_order second) {
        return scenario({[=](Shape& s) { s.a = s.x.load(relaxed), s.b = s.x.load(second), s.y.store(1, relaxed); },
                         [=](Shape& s) { s.c = s.y.load(relaxed), s.x.store(1, release); }},
                        3);
    };
    EXPECT_THAT(outcomesWithSpeculation(readTwice(relaxed)), testing::Contains(Outcome{1, 1, 1}));
    EXPECT_THAT(outcomesWithSpeculation(readTwice(acquire)),
                testing::UnorderedElementsAre(Outcome{0, 0, 0}, Outcome{0, 0, 1}, Outcome{0, 1, 0}, Outcome{1, 1, 0}));
}

TEST(Litmus, ValuesDoNotComeOutOfThinAir) {
    const auto copied = scenario({[](Shape& s) { s.a = s.x.load(relaxed), s.y.store(s.a, relaxed); },
                                  [](Shape& s) { s.b = s.y.load(relaxed), s.x.store(s.b, relaxed); }},
                                 2);
    EXPECT_EQ(outcomesWithSpeculation(copied), (std::set<Outcome>{{0, 0}}));
    const auto conditional = scenario({[](Shape& s) {
                                           if ((s.a = s.x.load(relaxed)) == 1) s.y.store(1, relaxed);
                                       },
                                       [](Shape& s) {
                                           if ((s.b = s.y.load(relaxed)) == 1) s.x.store(1, relaxed);
                                       }},
                                      2);
    EXPECT_EQ(outcomesWithSpeculation(conditional), (std::set<Outcome>{{0, 0}}));
}

// C++20 lets the order of the seq_cst operations contradict happens-before where operations that are not seq_cst join
// the two (the shape is called Z6.U). Here that order is the order of execution, so this outcome is not found. It is
// visible on POWER only.
TEST(Litmus, KnownGapSeqCstOperationsAreOrderedAsTheyAreExecuted) {
    const auto tested = scenario({[](Shape& s) { s.x.store(1, seq_cst), s.y.store(1, release); },
                                  [](Shape& s) { s.a = s.y.fetch_add(1, seq_cst), s.b = s.y.load(relaxed); },
                                  [](Shape& s) { s.y.store(3, seq_cst), s.c = s.x.load(seq_cst); }},
                                 3);
    EXPECT_FALSE(outcomes(tested).contains({1, 3, 0}));
}

}  // namespace
}  // namespace weft::model::litmus
