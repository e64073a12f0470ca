// IPv4 endpoints of the benchmark programs: "ADDR:PORT" to a sockaddr, a listening or connected socket, and the
// `listening on ADDR:PORT` line that perf/run waits for. Failures print one line and exit 1: a benchmark has no
// fallback.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "flags.hpp"

namespace weft::perf {

[[noreturn]] inline void die(const std::string& what, int error = 0) {
    std::fprintf(stderr, "%s%s%s\n", what.c_str(), error ? ": " : "", error ? std::strerror(error) : "");
    std::exit(1);
}

inline std::optional<sockaddr_in> parseEndpoint(const std::string& text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return std::nullopt;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    unsigned port = 0;
    const char* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, port);
    if (error != std::errc{} || end != last || port > 65535) return std::nullopt;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) return std::nullopt;
    return address;
}

inline std::string toText(const sockaddr_in& address) {
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(address.sin_port));
}

inline sockaddr_in endpointFlag(Flags& flags, const char* name) {
    const std::string text = flags.requiredText(name);
    const auto address = parseEndpoint(text);
    if (!address) flags.fail(std::string(name) + " " + text + ": expected IPV4:PORT, for example 127.0.0.1:8080");
    return *address;
}

inline void setNoDelay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// The first line of every server of the rig; perf/run reads the port from it.
inline void announce(const std::string& endpoint) {
    std::printf("listening on %s\n", endpoint.c_str());
    std::fflush(stdout);
}

// A non-blocking listening socket; prints the listening line. Port 0 means any free port.
inline int listenAndAnnounce(const sockaddr_in& address) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket", errno);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in bound = address;
    socklen_t size = sizeof bound;
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        die("bind " + toText(address), errno);
    if (listen(fd, 4096) < 0) die("listen " + toText(address), errno);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) < 0) die("getsockname", errno);
    announce(toText(bound));
    return fd;
}

// A connected, blocking socket without Nagle's delay.
inline int connectBlocking(const sockaddr_in& address) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) die("socket", errno);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
        die("connect " + toText(address), errno);
    setNoDelay(fd);
    return fd;
}

}  // namespace weft::perf
