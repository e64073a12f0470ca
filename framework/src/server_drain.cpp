// Every step asks all loops first and then waits for all of them, each time with a limit.
#include "server_drain.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <weft/scheduler/log.hpp>

#include "server_state.hpp"

namespace weft::detail {

namespace {

constexpr Duration closingTime = std::chrono::seconds(1);  // for the closes after the timeout, which wait for nobody

// The connections of one server on one loop.
struct LoopDrain {
    ServerState& server;
    std::size_t loop;
    Future<void> emptied;
    std::optional<Future<std::size_t>> closed = {};  // asked for when the time was up: how many there were
};

struct Late {
    std::size_t closed = 0;
    std::size_t stuck = 0;  // on loops that do not answer

    void add(const LoopDrain& drain, Deadline end) {
        if (!drain.closed->awaitUntil(end)) {
            stuck += drain.server.liveChildren(drain.loop);
        } else if (!drain.closed->error()) {  // else the loop has ended, and its connections with it
            closed += drain.closed->get();
            drain.emptied.awaitUntil(end);
        }
    }
    void report(const ServerState& server, Duration timeout) const {
        const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
        const auto say = [&](std::size_t count, const char* what) {
            if (count == 0) return;
            log(LogLevel::warning, "drain of " + server.localAddress.toString() + ": " + std::to_string(count) +
                                       " connection(s) had not ended after " + std::to_string(waited) + " ms and " + what);
        };
        say(closed, "were closed");
        say(stuck, "stay open: a handler on their event loop does not return");
    }
};

Deadline closingEnd() noexcept { return Clock::steady().now() + closingTime; }

}  // namespace

std::size_t drainServers(const std::vector<std::shared_ptr<ServerState>>& servers, Deadline deadline, Duration timeout) {
    std::vector<Future<void>> listeners;
    for (const auto& server : servers) listeners.push_back(server->startDrain());
    for (const auto& closed : listeners) closed.awaitUntil(deadline);

    // Behind the listeners' close: connections that came before it are registered by tasks that are ahead of this one.
    std::vector<LoopDrain> drains;
    for (const auto& server : servers) {
        for (std::size_t loop = 0; loop < server->loops(); ++loop) drains.push_back({*server, loop, server->emptied(loop)});
    }
    for (LoopDrain& drain : drains) {
        if (!drain.emptied.awaitUntil(deadline)) drain.closed = drain.server.closeAll(drain.loop);
    }

    const Deadline end = closingEnd();
    std::size_t late = 0;
    for (const auto& server : servers) {
        Late ofServer;
        for (const LoopDrain& drain : drains) {
            if (&drain.server == server.get() && drain.closed) ofServer.add(drain, end);
        }
        ofServer.report(*server, timeout);
        late += ofServer.closed + ofServer.stuck;
    }
    return late;
}

}  // namespace weft::detail
