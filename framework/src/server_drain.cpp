// Every step first posts to all loops and then waits for all of them, always with a limit.
#include "server_drain.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <weft/scheduler/log.hpp>
#include <weft/scheduler/this_fiber.hpp>

#include "server_state.hpp"

namespace weft::detail {

namespace {

constexpr Duration closingTime = std::chrono::seconds(1);         // for all steps after the timeout
constexpr Duration answerTime = std::chrono::milliseconds(250);   // part of it: for answers of fibers that unwind
constexpr Duration betweenChecks = std::chrono::milliseconds(2);  // between checks of cancelled fibers
constexpr std::size_t mostNamed = 16;                             // connections listed in the log, per server

// The connections of one server on one loop.
struct LoopDrain {
    ServerState& server;
    std::size_t loop;
    Future<void> emptied;
    std::optional<Future<std::vector<LateConnection>>> cancelled = {};  // requested after the timeout
    std::vector<LateConnection> late = {};
    bool responds = true;   // the loop
    std::size_t stuck = 0;  // connections of a loop that does not

    bool hasFibers() const {
        return std::any_of(late.begin(), late.end(), [](const LateConnection& one) { return !one.fibers.empty(); });
    }
};

using Drains = std::vector<LoopDrain>;

// A loop that has ended has already closed its connections.
void cancelFibers(Drains& drains, Deadline end) {
    for (LoopDrain& drain : drains) drain.cancelled = drain.server.cancelAll(drain.loop);
    for (LoopDrain& drain : drains) {
        if (!drain.cancelled->awaitUntil(end)) {
            drain.responds = false;
            drain.stuck = drain.server.liveChildren(drain.loop);
        } else if (!drain.cancelled->error()) {
            drain.late = drain.cancelled->get();
        }
    }
}

// Fibers that unwind may answer, or leave the answer to the codec.
void awaitAnswers(const Drains& drains, Deadline end) {
    for (const LoopDrain& drain : drains) {
        if (drain.hasFibers()) drain.emptied.awaitUntil(end);
    }
}

void closeConnections(const Drains& drains, Deadline end) {
    for (const LoopDrain& drain : drains) drain.server.closeAll(drain.loop);
    for (const LoopDrain& drain : drains) {
        if (drain.responds) drain.emptied.awaitUntil(end);
    }
}

// The connections whose fibers continue although they were cancelled. For a loop that does not respond, the last known
// state.
std::vector<LateConnection> unfinished(const LoopDrain& drain, Deadline end) {
    std::vector<LateConnection> remaining = drain.late;
    std::erase_if(remaining, [](const LateConnection& one) { return one.fibers.empty(); });
    while (!remaining.empty()) {
        const auto found = drain.server.findUnfinished(drain.loop, remaining);
        if (!found.awaitUntil(end)) return remaining;
        if (found.error()) return {};  // the loop has ended
        remaining = found.get();
        if (remaining.empty() || Clock::current().now() >= end) return remaining;
        thisFiber::sleepFor(betweenChecks);
    }
    return remaining;
}

// ---- the report ----

std::string milliseconds(Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

std::string describe(const LateConnection& late, TimePoint now) {
    std::string text = "channel " + std::to_string(late.channel->id()) + " of " + late.peer.toString() + ": ";
    if (late.fibers.empty()) return text + "no fiber; its handlers have not closed it";
    const char* separator = "";
    for (const auto& fiber : late.fibers) {
        text += std::exchange(separator, ", ") + std::string("fiber '") + fiber.name + "' for " +
                milliseconds(now - fiber.since);
    }
    return text;
}

class Report {
  public:
    explicit Report(const ServerState& server) : drain_("drain of " + server.address().toString() + ": ") {}

    void count(std::size_t connections, Duration timeout, const char* what) const {
        if (connections == 0) return;
        warn(std::to_string(connections) + " connection(s) had not ended after " + milliseconds(timeout) + " and " +
             what);
    }
    void name(const std::vector<LateConnection>& connections, const char* what) {
        const TimePoint now = Clock::steady().now();
        for (const LateConnection& late : connections) {
            if (named_++ < mostNamed) warn(describe(late, now) + what);
        }
    }
    ~Report() {
        if (named_ > mostNamed) warn(std::to_string(named_ - mostNamed) + " more");
    }

  private:
    void warn(const std::string& text) const { log(LogLevel::warning, drain_ + text); }

    const std::string drain_;
    std::size_t named_ = 0;
};

std::size_t reportLate(const ServerState& server, const Drains& drains, Duration timeout) {
    std::size_t closed = 0;
    std::size_t stuck = 0;
    for (const LoopDrain& drain : drains) {
        if (&drain.server != &server) continue;
        closed += drain.late.size();
        stuck += drain.stuck;
    }
    Report report(server);
    report.count(closed, timeout, "were closed");
    report.count(stuck, timeout, "stay open: a handler on their event loop does not return");
    for (const LoopDrain& drain : drains) {
        if (&drain.server == &server) report.name(drain.late, "");
    }
    return closed + stuck;
}

// Cancels, closes and reports the connections left after the timeout. Returns their number.
std::size_t endLate(Drains& drains, Duration timeout) {
    const TimePoint now = Clock::current().now();
    const Deadline end = deadlineAfter(now, closingTime);
    const Deadline answered =
        deadlineAfter(now, answerTime);  // for both: one loop that does not respond delays no other
    cancelFibers(drains, answered);
    awaitAnswers(drains, answered);
    closeConnections(drains, end);

    std::size_t late = 0;
    const ServerState* reported = nullptr;  // the drains of one server are adjacent
    for (const LoopDrain& drain : drains) {
        if (std::exchange(reported, &drain.server) != &drain.server) late += reportLate(drain.server, drains, timeout);
    }
    for (const LoopDrain& drain : drains) {
        Report(drain.server).name(unfinished(drain, end), ", still runs after it was cancelled");
    }
    return late;
}

}  // namespace

std::size_t drainServers(const std::vector<std::shared_ptr<ServerState>>& servers, Deadline deadline,
                         Duration timeout) {
    std::vector<Future<void>> listeners;
    listeners.reserve(servers.size());
    for (const auto& server : servers) listeners.push_back(server->startDrain());
    for (const auto& closed : listeners) closed.awaitUntil(deadline);

    // Requested after the listeners have closed: earlier connections are registered by tasks that are queued before
    // these.
    Drains drains;
    for (const auto& server : servers) {
        for (std::size_t loop = 0; loop < server->loops(); ++loop)
            drains.push_back({*server, loop, server->whenEmptied(loop)});
    }
    Drains late;
    for (LoopDrain& drain : drains) {
        if (!drain.emptied.awaitUntil(deadline)) late.push_back(std::move(drain));
    }
    return late.empty() ? 0 : endLate(late, timeout);
}

}  // namespace weft::detail
