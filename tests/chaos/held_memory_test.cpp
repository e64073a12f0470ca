// What a connection may make the server hold, whatever its peer does: uploads in pieces of one byte that nobody reads, requests
// without end from a client that takes no answers, downloads that nobody takes.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <malloc.h>

#include "chaos/chaos.hpp"
#include "chaos/chaotic_server.hpp"
#include "chaos/http_exchange.hpp"
#include "chaos/raw_peer.hpp"
#include "support/sanitized.hpp"
#include "support/watchdog.hpp"

#ifdef WEFT_SANITIZED
#include <sanitizer/allocator_interface.h>
#endif

namespace weft::test {
namespace {

constexpr std::size_t connections = 8;
// Of a connection: a read cycle that has begun (1 MiB), the marks of both directions, and what all of it is wrapped in. A
// defect that keeps a block for each small piece takes five times as much, or all there is.
constexpr std::size_t bound = 2 << 20;
constexpr std::size_t most = 4 << 20;  // bytes that a client tries to send

std::size_t allocatedBytes() {
#ifdef WEFT_SANITIZED
    return __sanitizer_get_current_allocated_bytes();
#else
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

// A client that sends, and does not receive, until the server takes no more.
class Glutton {
  public:
    Glutton(const ChaoticServer& server, HttpExchange exchange) : peer_(server.address(exchange.id)) {
        text_ = exchange.request();
        if (exchange.how != How::blocked) text_ = patternOf(text_, most / text_.size() * text_.size());
        sent_ = peer_.sendUntilStuck(text_);
    }
    std::size_t sent() const { return sent_; }
    void leave(Dice& dice) { dice.oneIn(2) ? peer_.reset() : peer_.close(); }

  private:
    RawPeer peer_;
    std::string text_;
    std::size_t sent_ = 0;
};

}  // namespace
}  // namespace weft::test
