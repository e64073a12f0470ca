// EagerPeer: a client that sends as long as the server accepts bytes, and receives only when the test tells it to.
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>

namespace weft::test {

// Sends as long as the server accepts bytes, and sends the rest while it receives.
class EagerPeer {
  public:
    EagerPeer(const SocketAddress& address, std::string bytes)
        : bytes_(std::move(bytes)), fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        EXPECT_EQ(::connect(fd_, address.data(), address.size()), 0);
    }
    ~EagerPeer() { ::close(fd_); }

    void sendUntilStuck() {
        for (pollfd room{fd_, POLLOUT, 0}; sent_ < bytes_.size();) {
            const ssize_t count =
                ::send(fd_, bytes_.data() + sent_, bytes_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count > 0) sent_ += static_cast<std::size_t>(count);
            if (count < 0 && ::poll(&room, 1, 500) == 0) return;  // no byte was accepted for this long
        }
    }
    bool hasSentAll() const { return sent_ == bytes_.size(); }
    // Receives up to the end of the stream, or up to this many of byte `byte`.
    std::string receive(std::size_t most = ~std::size_t{0}, char byte = '#') {
        std::thread sender([this] { ::send(fd_, bytes_.data() + sent_, bytes_.size() - sent_, MSG_NOSIGNAL); });
        std::string all;
        std::string block(1 << 20, '\0');
        for (std::size_t found = 0; found < most;) {
            const ssize_t count = ::recv(fd_, block.data(), block.size(), 0);
            if (count <= 0) break;
            found += static_cast<std::size_t>(std::count(block.begin(), block.begin() + count, byte));
            all.append(block, 0, static_cast<std::size_t>(count));
        }
        sender.join();
        return all;
    }

  private:
    const std::string bytes_;
    const int fd_;
    std::size_t sent_ = 0;
};

}  // namespace weft::test
