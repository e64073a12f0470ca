// The memory that a connection can make the server hold: uploads in chunks of a few bytes that no handler reads, and
// endless requests from clients that read no answers or wait for an answer that does not come.
#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/chaos.hpp"
#include "chaos/chaotic_server.hpp"
#include "chaos/http_exchange.hpp"
#include "chaos/raw_peer.hpp"
#include "support/sanitized.hpp"
#include "support/watchdog.hpp"

#ifdef WEFT_SANITIZED
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // GCC has no header for it
#endif

namespace weft::test {
namespace {

constexpr std::size_t connections = 8;
// Per connection: a read cycle in progress (1 MiB), the water marks of both directions, and overhead. An implementation
// that keeps a block for each small piece takes three times as much, or more.
constexpr std::size_t bound = 2 << 20;
constexpr std::size_t longest = 2 << 20;  // bytes that a client tries to send
constexpr Duration stuck = std::chrono::milliseconds(50);

// Memory of this process. Without a sanitizer it is the resident memory, which does not shrink: only the first round
// counts.
std::size_t heldBytes() {
#ifdef WEFT_SANITIZED
    return __sanitizer_get_current_allocated_bytes();
#else
    std::size_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
#endif
}

enum class Attack : unsigned char { unreadUpload, untakenAnswers, blockedAnswers, count_ };

std::string textOf(Attack attack, Dice& dice) {
    HttpExchange exchange;
    exchange.size = dice.size(5'000);
    exchange.how = dice.pick(std::array{How::responder, How::inDelivery, How::fiber, How::writer, How::pieces});
    const std::string request = exchange.request();
    const std::string endless = patternOf(request, longest / request.size() * request.size());
    if (attack == Attack::untakenAnswers) return endless;
    exchange.how = How::held;
    if (attack == Attack::blockedAnswers) return exchange.request() + endless;
    exchange.chunk = dice.between(1, 3);
    exchange.upload = static_cast<unsigned>(longest / 6 * exchange.chunk);
    return exchange.request();
}

// Clients that send the same text as fast as they can, and receive nothing.
class Gluttons {
  public:
    Gluttons(const SocketAddress& server, const std::string& text) : sent_(connections, 0), text_(text) {
        for (std::size_t i = 0; i < connections; ++i) peers_.push_back(std::make_unique<RawPeer>(server));
    }
    // Sends until the server accepts no more. Returns the peak of the additional memory.
    std::size_t feed() {
        const std::size_t before = heldBytes();
        std::size_t peak = before;
        for (Deadline giveUp = deadlineAfter(stuck); std::chrono::steady_clock::now() < giveUp;) {
            if (sendSome()) giveUp = deadlineAfter(stuck);
            else awaitRoom();
            peak = std::max(peak, heldBytes());
        }
        return peak - before;
    }
    void leave(Dice& dice) {
        for (auto& peer : peers_) dice.oneIn(2) ? peer->reset() : peer->close();
    }

  private:
    // Waits until the server has made room, for at most a millisecond, so that no peak of its memory is missed.
    void awaitRoom() {
        std::array<pollfd, connections> sockets;
        for (std::size_t i = 0; i < connections; ++i) {
            const bool unsent = sent_[i] < text_.size();
            sockets[i] = {unsent ? peers_[i]->fd() : -1, POLLOUT, 0};
        }
        ::poll(sockets.data(), sockets.size(), 1);
    }
    bool sendSome() {
        bool moved = false;
        for (std::size_t i = 0; i < connections; ++i) {
            const std::size_t piece = std::min<std::size_t>(text_.size() - sent_[i], 64 * 1024);
            if (piece == 0) continue;
            const ssize_t count = ::send(peers_[i]->fd(), text_.data() + sent_[i], piece, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count > 0) sent_[i] += static_cast<std::size_t>(count);
            moved = moved || count > 0;
        }
        return moved;
    }

    std::vector<std::unique_ptr<RawPeer>> peers_;
    std::vector<std::size_t> sent_;
    const std::string& text_;
};

TEST(HttpChaos, WhatAConnectionHoldsIsBounded) {
    ChaosRun run("rounds");
    ChaoticServer server;
    Watchdog watchdog(server.carriers());
    for (Dice dice(0); run.goesOn(); run.count(), watchdog.advance()) {
        const auto attack = static_cast<Attack>(dice.below(static_cast<unsigned>(Attack::count_)));
        const std::string text = textOf(attack, dice);
        ChaoticServer::hold(true);
        const bool streamed = attack == Attack::unreadUpload || dice.oneIn(2);  // an aggregator holds an upload
        Gluttons gluttons(server.address(streamed ? 1 : 0), text);
        const std::size_t held = gluttons.feed();
        if (held > connections * bound) {
            wrong("attack " + std::to_string(static_cast<int>(attack)) + " makes each connection hold " +
                  std::to_string(held / connections / 1024) + " KiB: " + text.substr(0, 100));
        }
        gluttons.leave(dice);
        ChaoticServer::hold(false);  // a server that does not read does not notice that its clients have gone
        server.awaitIdle();
    }
}

}  // namespace
}  // namespace weft::test
