// How long a server waits for a client before it gives the connection up.
// A value that a server codec is made with; every limit has a default, a reason and a range.
#pragma once

#include <cstdint>

#include <weft/scheduler/deadline.hpp>

namespace weft::http {

// Zero means no limit. Time in which the server itself does not read (too many unanswered requests, a slow handler, a
// client that takes no answers) counts against nobody.
struct ServerTimeouts {
    // From the first byte of a request head to its last; for the first request of a connection, from the moment the
    // connection was accepted. Then 408 and close, or only close when no byte has come. 20 s: ten times a bad mobile
    // link, and too short to collect connections by heads that never end, or never begin.
    Duration head = std::chrono::seconds(20);

    // For a request body, counted from its first wait; each bodyRate bytes of it that come give a second more. Then 408
    // (if nothing has been answered) and close.
    Duration body = std::chrono::seconds(30);

    // Bytes of body per second, 0 for none: slower uploads than this end some time after `body`. 1 KiB/s: no modem
    // today is slower, and a byte now and then does not hold a connection.
    std::uint32_t bodyRate = 1024;

    // Between requests: a connection without an unanswered request on which nothing comes; up to a tenth longer. Then
    // close. Before the very first byte, the shorter one of this and `head` counts. 1 h: collects the dead, whose end
    // never came. A server that is short of descriptors sets it to what proxies keep idle connections for (75 s is
    // usual).
    Duration idle = std::chrono::hours(1);

    // Answers are waiting, and the client takes none of their bytes; up to a tenth longer. Then close.
    Duration stall = std::chrono::seconds(60);

    // Throws std::invalid_argument naming the limit, its value and its range when one is out of range.
    // Durations: 0, or 10 ms to 24 h.
    void validate() const;
};

}  // namespace weft::http
