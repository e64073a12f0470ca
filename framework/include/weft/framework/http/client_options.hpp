// What an http::Client, and a request of it, may cost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <weft/pipeline/http/limits.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {
class Resolver;
}

namespace weft::http {

// Of a client; the connections of each carrier are counted apart.
struct ClientOptions {
    std::size_t maxPerHost = 1024;      // connections to one host, 1 or more: in use and idle; further requests wait
    std::size_t maxConnections = 4096;  // connections to all hosts, 1 or more
    std::size_t maxIdlePerHost = 64;    // connections kept for later; 0: each request has one of its own
    Duration idleTime = std::chrono::seconds(30);        // how long; shorter than what most servers grant
    Duration connectTimeout = std::chrono::seconds(30);  // per address
    Limits limits = {};                                  // of response heads
    Resolver* resolver = nullptr;  // of host names; null: Resolver::system(). It outlives the client

    // Throws std::invalid_argument naming the option, its value and what is accepted.
    void validate() const;
};

// Of one request.
struct RequestOptions {
    Deadline deadline = never;                    // of the whole call; ClientExchange may move it
    Duration timeout = std::chrono::seconds(30);  // the same, counted from the call; the earlier one counts
    std::size_t maxBodyBytes = 8 * 1024 * 1024;   // of a whole response; more is ClientFault::bodyTooLarge
    std::string_view host = {};                   // the Host header, if the request has none; empty: the server's name
};
using GetOptions = RequestOptions;

// What the connections of one client on one carrier have done, and do now.
struct ClientStats {
    std::uint64_t opened = 0;   // connections
    std::uint64_t reused = 0;   // exchanges on a connection that had carried one before
    std::uint64_t stale = 0;    // idle connections closed because they had ended or received unsolicited bytes
    std::uint64_t retried = 0;  // requests sent again, since a reused connection ended without a byte
    std::uint64_t waited = 0;   // requests that had to wait for a place
    std::size_t inUse = 0;
    std::size_t idle = 0;
    std::size_t waiting = 0;
};

}  // namespace weft::http
