// Limits of an http::Client and of one of its requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <weft/http/limits.hpp>
#include <weft/scheduler/deadline.hpp>

namespace weft {
class Resolver;
class StreamSecurity;
}  // namespace weft

namespace weft::http {

// Options of a client. The limits on connections apply to each carrier separately.
struct ClientOptions {
    std::size_t maxPerHost = 1024;      // connections to one host, 1 or more: in use and idle; further requests wait
    std::size_t maxConnections = 4096;  // connections to all hosts, 1 or more
    std::size_t maxIdlePerHost = 64;    // idle connections kept open; 0: each request has its own connection
    Duration idleTime = std::chrono::seconds(30);  // until an idle one is closed; shorter than most servers allow
    // For each address of a name. Several may be tried at once, as by Bootstrap::connect() (RFC 8305); together they
    // count as one connection. Less than RequestOptions::timeout, so that a failure names the addresses.
    Duration connectTimeout = std::chrono::seconds(10);
    Limits limits = {};            // on response heads
    Resolver* resolver = nullptr;  // for host names; null: Resolver::system(). Must outlive the client
    // For https: an SslContext of weft::tls, for example. Null: trusts the system's authorities, if the program is
    // linked with weft::tls.
    std::shared_ptr<const StreamSecurity> tls = nullptr;

    // Throws std::invalid_argument naming the option, its value and what is accepted.
    void validate() const;
};

// Options of one request.
struct RequestOptions {
    Deadline deadline = never;  // for the whole call, or the whole exchange of Client::begin()
    // Of request() and its shorthands: for the whole call. Of begin(): for each wait, which are begin() itself and each
    // call of its ClientExchange; so a long body may take any time, unless its sender pauses for longer than this.
    Duration timeout = std::chrono::seconds(30);
    std::size_t maxBodyBytes = 8 * 1024 * 1024;  // for a whole response; more is ClientFault::bodyTooLarge
    std::string_view host = {};                  // the Host header if the request has none; empty: the server's name
};
using GetOptions = RequestOptions;

// Figures of one client's connections on one carrier: totals, then current numbers.
struct ClientStats {
    std::uint64_t opened = 0;   // connections
    std::uint64_t reused = 0;   // exchanges on a connection that had carried one before
    std::uint64_t stale = 0;    // idle connections closed because they had ended or received unsolicited bytes
    std::uint64_t retried = 0;  // requests sent again because a reused connection ended before the first byte
    std::uint64_t waited = 0;   // requests that had to wait for a connection
    std::size_t inUse = 0;
    std::size_t idle = 0;
    std::size_t waiting = 0;
};

}  // namespace weft::http
