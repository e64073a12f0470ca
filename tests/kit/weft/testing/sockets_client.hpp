// The clients of the conformance kit for sockets: plain blocking sockets without Weft, which send messages and compare
// the answers. They know nothing of the transport under test. Its servers are in sockets_bench.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>

namespace weft::test {

// Anything that takes longer counts as lost.
inline constexpr std::chrono::seconds socketsTimeout{60};

// ---- messages: a length of four bytes, then that many bytes ----

using MessageHash = std::uint64_t;

class Hasher {
  public:
    void add(std::string_view bytes) noexcept {
        for (const char byte : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    }
    MessageHash value() const noexcept { return hash_; }

  private:
    MessageHash hash_ = 14695981039346656037ULL;
};

inline MessageHash hashOf(std::string_view bytes) noexcept {
    Hasher hasher;
    hasher.add(bytes);
    return hasher.value();
}

// The same seed produces the same messages. Most are short; some fill several buffers.
class MessageMaker {
  public:
    explicit MessageMaker(unsigned seed) : random_(seed) {}
    std::string payload() {
        std::string bytes(size(), '\0');
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint32_t)) {
            const auto word = static_cast<std::uint32_t>(random_());
            std::memcpy(&bytes[at], &word, std::min(sizeof word, bytes.size() - at));
        }
        return bytes;
    }
    static std::string framed(std::string_view payload) {
        std::string frame;
        for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift & 0xFF);
        return frame += payload;
    }

  private:
    std::size_t size() {
        const auto kind = random_() % 100;
        return random_() % (kind < 75 ? 300 : kind < 97 ? 5'000 : 70'000);
    }
    std::mt19937 random_;
};

// ---- a client ----

// A client on a blocking socket. It treats a timeout as the end of the stream.
class PlainClient {
  public:
    explicit PlainClient(const SocketAddress& server) : fd_(::socket(server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const timeval limit{socketsTimeout.count(), 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        connected_ = ::connect(fd_, server.data(), server.size()) == 0;
    }
    ~PlainClient() { ::close(fd_); }
    PlainClient(const PlainClient&) = delete;
    PlainClient& operator=(const PlainClient&) = delete;

    bool connected() const noexcept { return connected_; }
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    // Returns how many bytes arrived before the end or an error.
    std::size_t receive(char* into, std::size_t size) {
        std::size_t all = 0;
        while (all < size) {
            const ssize_t got = ::recv(fd_, into + all, size - all, 0);
            if (got <= 0) break;
            all += static_cast<std::size_t>(got);
        }
        return all;
    }
    bool ended() {
        char byte = 0;
        return ::recv(fd_, &byte, 1, 0) == 0;
    }
    void endOutput() { ::shutdown(fd_, SHUT_WR); }
    void reset() {
        const linger now{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }

  private:
    const int fd_;
    bool connected_ = false;
};

// Sends `messages` messages while it receives the answers. Returns what is wrong; empty if each answer was the hash of
// its message, in order.
inline std::string exchange(PlainClient& client, unsigned seed, std::size_t messages, bool thenEnds = false) {
    if (!client.connected()) return "not connected";
    std::thread sender([&] {
        MessageMaker maker(seed);
        for (std::size_t i = 0; i < messages; ++i) {
            if (!client.send(MessageMaker::framed(maker.payload()))) return;
        }
        if (thenEnds) client.endOutput();
    });
    std::string wrong;
    MessageMaker maker(seed);
    for (std::size_t i = 0; i < messages && wrong.empty(); ++i) {
        MessageHash answer = 0;
        const std::size_t got = client.receive(reinterpret_cast<char*>(&answer), sizeof answer);
        if (got != sizeof answer) wrong = "no answer to message " + std::to_string(i);
        if (wrong.empty() && answer != hashOf(maker.payload()))
            wrong = "a wrong answer to message " + std::to_string(i);
    }
    sender.join();
    if (wrong.empty() && thenEnds && !client.ended()) wrong = "no end behind the last answer";
    return wrong;
}

inline std::string exchange(const SocketAddress& server, unsigned seed, std::size_t messages, bool thenEnds = false) {
    PlainClient client(server);
    return exchange(client, seed, messages, thenEnds);
}

}  // namespace weft::test
