// Histories whose explanation has to be searched for among the orders of many calls that wait at the same time, and
// ones that no order explains. Their calls are written as a failure prints them.
#include "property/explanation.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "property/lock_models.hpp"
#include "property/queue_models.hpp"

namespace weft::property {
namespace {

// The value up to `last` that has this name.
template <class Enum>
Enum named(const std::string& name, Enum last) {
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        if (name == nameOf(static_cast<Enum>(i))) return static_cast<Enum>(i);
    }
    ADD_FAILURE() << "no name: " << name;
    return last;
}

// "[1, 2] actor 3: receive(0) timed out, interrupted from 0"
Call parsed(const std::string& line) {
    Call call;
    char verb[16] = {}, outcome[16] = {};
    int used = 0;
    unsigned long begun = 0, ended = 0, interrupted = 0;
    std::sscanf(line.c_str(), "[%lu, %lu] actor %d: %15[^(](%ld) %15[^,]%n", &begun, &ended, &call.actor, verb,
                &call.argument, outcome, &used);
    call.begun = begun, call.ended = ended;
    call.verb = named(verb, Verb::count);
    call.outcome = named(outcome, Outcome::aborted);
    call.queues =
        call.verb == Verb::acquire || call.verb == Verb::send || call.verb == Verb::receive || call.verb == Verb::wait;
    call.hasTicket = call.verb == Verb::wait;
    const char* const rest = line.c_str() + used;
    if (call.gaveUp()) {
        EXPECT_EQ(std::sscanf(rest, ", interrupted from %lu", &interrupted), 1) << line;
    } else if (call.outcome == Outcome::done) {
        EXPECT_EQ(std::sscanf(rest, ", %ld", &call.value), 1) << line;
    }
    call.interrupted = interrupted;
    EXPECT_EQ(describe(call), line);
    return call;
}

std::vector<Call> history(const char* lines) {
    std::vector<Call> calls;
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) calls.push_back(parsed(line));
    return calls;
}

constexpr const char* tenWaiters = R"([2, 3] actor 1: tryAcquire(1) done, 0
[4, 5] actor 1: release(1) done, 0
[6, 7] actor 3: tryAcquire(1) done, 0
[8, 9] actor 3: release(1) done, 0
[11, 12] actor 6: acquire(1) done, 0
[13, 14] actor 6: release(1) done, 0
[16, 17] actor 8: acquire(1) done, 0
[18, 19] actor 8: release(1) done, 0
[21, 22] actor 0: acquire(1) done, 0
[23, 24] actor 11: tryAcquire(1) refused
[25, 36] actor 11: acquire(1) done, 0
[26, 92] actor 2: acquire(1) done, 0
[27, 56] actor 5: acquire(1) done, 0
[28, 63] actor 7: acquire(1) done, 0
[29, 66] actor 9: acquire(1) done, 0
[30, 39] actor 14: acquire(1) done, 0
[31, 82] actor 10: acquire(1) aborted, interrupted from 42
[32, 73] actor 12: acquire(1) done, 0
[33, 60] actor 13: acquire(1) done, 0
[34, 35] actor 0: release(1) done, 0
[37, 38] actor 11: release(1) done, 0
[40, 41] actor 14: release(1) done, 0
[51, 52] actor 4: acquire(1) done, 0
[53, 54] actor 4: release(1) done, 0
[57, 58] actor 5: release(1) done, 0
[61, 62] actor 13: release(1) done, 0
[64, 65] actor 7: release(1) done, 0
[67, 68] actor 9: release(1) done, 0
[69, 70] actor 9: acquire(1) done, 0
[71, 72] actor 9: release(1) done, 0
[74, 75] actor 12: release(1) done, 0
[76, 77] actor 12: acquire(1) done, 0
[78, 79] actor 12: release(1) done, 0
[80, 81] actor 5: acquire(1) done, 0
[83, 84] actor 10: tryAcquire(1) refused
[85, 88] actor 10: acquire(1) done, 0
[86, 87] actor 5: release(1) done, 0
[89, 90] actor 10: release(1) done, 0
[94, 95] actor 2: release(1) done, 0
[120, 121] actor 6: tryAcquire(1) done, 0
[122, 123] actor 6: release(1) done, 0
[124, 125] actor 3: tryAcquire(1) done, 0
[127, 128] actor 3: release(1) done, 0
[130, 131] actor 3: acquire(1) done, 0
[133, 134] actor 3: release(1) done, 0
[137, 138] actor 16: acquire(1) done, 0
[139, 140] actor 16: release(1) done, 0
[559, 560] actor 3: acquire(1) done, 0
[561, 562] actor 3: release(1) done, 0
[564, 565] actor 17: count(0) done, 1)";

constexpr const char* closedReceivers = R"([1, 2] actor 1: receive(0) timed out, interrupted from 0
[5, 16] actor 5: receive(0) done, 1
[6, 8] actor 1: send(1) done, 0
[7, 40] actor 0: receive(0) aborted, interrupted from 36
[9, 10] actor 1: tryReceive(0) refused
[11, 12] actor 1: send(2) done, 0
[13, 14] actor 3: receive(0) done, 2
[15, 22] actor 3: receive(0) done, 3
[17, 18] actor 5: trySend(3) done, 0
[19, 321] actor 5: receive(0) done, 4
[20, 34] actor 10: receive(0) aborted, interrupted from 27
[21, 95] actor 11: receive(0) closed
[23, 38] actor 3: receive(0) timed out, interrupted from 36
[24, 25] actor 4: tryReceive(0) refused
[26, 65] actor 4: receive(0) closed
[28, 44] actor 2: receive(0) aborted, interrupted from 36
[29, 32] actor 13: send(4) done, 0
[30, 52] actor 12: receive(0) closed
[31, 69] actor 8: receive(0) aborted, interrupted from 27
[33, 49] actor 9: receive(0) closed
[39, 63] actor 3: receive(0) closed
[42, 43] actor 0: receive(0) aborted, interrupted from 36
[45, 46] actor 2: close(0) done, 1
[47, 48] actor 2: receive(0) closed
[50, 51] actor 9: receive(0) closed
[67, 68] actor 4: tryReceive(0) refused
[72, 83] actor 3: send(5) closed
[73, 74] actor 4: send(6) closed
[75, 76] actor 4: receive(0) closed
[77, 78] actor 4: trySend(7) closed
[80, 81] actor 4: send(8) closed
[84, 88] actor 14: send(9) closed
[85, 86] actor 3: tryReceive(0) refused
[89, 91] actor 14: send(10) closed
[90, 93] actor 15: send(11) closed
[92, 94] actor 14: receive(0) closed
[98, 99] actor 1: receive(0) closed
[100, 101] actor 1: receive(0) closed
[103, 104] actor 3: receive(0) closed
[105, 106] actor 3: receive(0) closed
[322, 323] actor 5: trySend(12) closed
[325, 326] actor 5: receive(0) closed
[327, 328] actor 5: send(13) closed
[329, 330] actor 6: receive(0) closed
[331, 332] actor 6: tryReceive(0) refused
[334, 335] actor 16: tryReceive(0) refused
[336, 337] actor 16: count(0) done, 0)";

constexpr const char* notified = R"([1, 4] actor 1: wait(0) done, 0
[2, 3] actor 3: notifyAll(0) done, 0
[6, 10] actor 1: wait(0) done, 0
[7, 8] actor 3: notifyAll(0) done, 0
[9, 15] actor 3: wait(0) done, 0
[11, 1029] actor 1: wait(0) done, 0
[12, 13] actor 7: notifyOne(0) done, 0
[14, 1028] actor 7: wait(0) done, 0
[16, 1041] actor 3: wait(0) done, 0
[17, 18] actor 4: tryWait(0) refused
[19, 61] actor 6: wait(0) done, 0
[20, 21] actor 4: notifyOne(0) done, 0
[22, 23] actor 4: notifyOne(0) done, 0
[24, 53] actor 4: wait(0) aborted, interrupted from 44
[26, 27] actor 8: notifyOne(0) done, 0
[28, 29] actor 8: find(0) refused
[30, 56] actor 5: wait(0) done, 0
[31, 45] actor 2: wait(0) aborted, interrupted from 42
[32, 57] actor 0: wait(0) aborted, interrupted from 36
[46, 47] actor 2: notifyOne(0) done, 0
[49, 50] actor 2: tryWait(0) refused
[51, 60] actor 2: wait(0) aborted, interrupted from 42
[54, 55] actor 4: notifyOne(0) done, 0
[58, 59] actor 0: notifyOne(0) done, 0
[62, 63] actor 6: notifyAll(0) done, 0
[1030, 1031] actor 1: notifyAll(0) done, 0
[1033, 1034] actor 1: wait(0) done, 0
[1035, 1036] actor 1: notifyAll(0) done, 0
[1037, 1038] actor 1: notifyOne(0) done, 0
[1039, 1040] actor 1: wait(0) done, 0
[1043, 1044] actor 10: tryWait(0) refused
[1045, 1046] actor 10: tryWait(0) refused)";

// With one permit. Actor 2 gets it before actor 1, which asked first.
constexpr const char* overtaken = R"([1, 2] actor 0: acquire(1) done, 0
[3, 12] actor 1: acquire(1) done, 0
[4, 8] actor 2: acquire(1) done, 0
[5, 6] actor 0: release(1) done, 0
[9, 10] actor 2: release(1) done, 0)";

TEST(Explanation, TenCallersThatQueuedInAnUnknownOrder) {
    EXPECT_EQ(explain(PermitsModel(1), history(tenWaiters), false), Explanation::found);
}

TEST(Explanation, ReceiversThatOneValueAndACloseServed) {
    EXPECT_EQ(explain(QueueModel(2, false), history(closedReceivers), false), Explanation::found);
}

TEST(Explanation, WaitersThatNotificationsServed) {
    EXPECT_EQ(explain(NotifyModel(), history(notified), false), Explanation::found);
}

// On one carrier a caller queues before the next one begins, so nothing explains it there.
TEST(Explanation, ACallerThatIsOvertaken) {
    EXPECT_EQ(explain(PermitsModel(1), history(overtaken), true), Explanation::none);
    EXPECT_EQ(explain(PermitsModel(1), history(overtaken), false), Explanation::found);
}

}  // namespace
}  // namespace weft::property
