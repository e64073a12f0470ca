// drainServers(): how servers end, loop by loop, in bounded time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <weft/scheduler/deadline.hpp>

namespace weft::detail {

class ServerState;

// Drains these servers at the same time: closes their listeners, tells every connection, waits until all are closed; at
// `deadline` closes the rest and gives that another second. A loop whose handler does not return is not waited for any
// longer: its connections count as late. Returns how many were late, and logs them server by server; `timeout` is for
// the log. Blocks; throws BlockingOperationException where nothing may block.
std::size_t drainServers(const std::vector<std::shared_ptr<ServerState>>& servers, Deadline deadline, Duration timeout);

}  // namespace weft::detail
