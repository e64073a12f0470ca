// ServerTimeouts: how long a server waits for a client before it closes the connection. A value that is passed to a
// server codec.
#pragma once

#include <cstdint>

#include <weft/scheduler/deadline.hpp>

namespace weft::http {

// Zero means no limit. Time in which the server itself does not read (too many unanswered requests, a slow handler, a
// client that does not accept responses) is excluded from timeouts.
struct ServerTimeouts {
    // From the first byte of a request head to its last; for the first request of a connection, from the accept. Then
    // 408 and close, or only close if no byte has arrived. 20 s: ten times what a bad mobile link needs, and too short
    // to collect connections by heads that never end or never begin.
    Duration head = std::chrono::seconds(20);

    // For a request body, from the first time the codec waits for more of it; each `bodyRate` bytes received add one
    // second. Then 408 (if the request is unanswered) and close. 30 s: as for a head, and time for a client that
    // prepares its body.
    Duration body = std::chrono::seconds(30);

    // Bytes of body per second; 0: received bytes add no time. A slower upload is ended some time after `body`. 1024:
    // no modem in use is slower, and a byte now and then does not hold a connection. Any value
    // is accepted.
    std::uint32_t bodyRate = 1024;

    // Between requests: nothing arrives and no request is unanswered. Then close, up to a tenth later. Before the very
    // first byte, the shorter of `idle` and `head` applies. 1 h: removes connections whose peer vanished without a FIN.
    // A server that is short of descriptors sets it to what proxies use for idle connections (usually 75 s).
    Duration idle = std::chrono::hours(1);

    // Responses wait to be sent, and the client accepts none of their bytes. Then close, up to a tenth later. 60 s: a
    // mobile client that changes its network needs up to half of it; what waits holds memory meanwhile.
    Duration stall = std::chrono::seconds(60);

    // Throws std::invalid_argument if a limit is out of range; the text names the limit, its value and its range.
    // Durations: 0, or 10 ms to 24 h.
    void validate() const;
};

}  // namespace weft::http
