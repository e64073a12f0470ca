// drainServers(): ends servers, loop by loop, in bounded time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <weft/scheduler/deadline.hpp>

namespace weft::detail {

class ServerState;

// Drains these servers at the same time: closes their listeners, fires DrainStarted on every connection and waits until
// all are closed. At `deadline` it closes the rest, and allows another second for that. It stops waiting for a loop
// whose handler does not return; that loop's connections count as late. Returns the number of late connections, and
// logs them per server; `timeout` is used in the log only. Blocks; throws BlockingOperationException where nothing may
// block.
std::size_t drainServers(const std::vector<std::shared_ptr<ServerState>>& servers, Deadline deadline, Duration timeout);

}  // namespace weft::detail
