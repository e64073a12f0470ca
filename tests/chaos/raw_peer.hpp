// RawPeer: a client socket driven by a test thread: it sends in pieces of any size, always receives what arrives, and
// ends in every way that TCP has. Nothing that its peer does is a failure, except silence for `testDeadline()`.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>

#include <weft/pipeline/socket_address.hpp>
#include <weft/transports/fd.hpp>

#include "chaos/chaos.hpp"

namespace weft::test {

class RawPeer {
  public:
    static constexpr int stillAlive = -1;
    static constexpr int timeout = 60'000;  // milliseconds

    explicit RawPeer(const SocketAddress& address) : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (::connect(fd_.get(), address.data(), address.size()) != 0) end_ = errno;
    }
    // Takes over a connection.
    explicit RawPeer(Fd fd) noexcept : fd_(std::move(fd)) {}

    // Bytes received but not yet removed.
    std::string& input() noexcept { return input_; }
    // 0 after an orderly end of the input, the errno that ended it, or stillAlive.
    int end() const noexcept { return end_; }

    // Sends all of `bytes`, at most `most` at a time, and receives meanwhile. False when the connection does not accept
    // them.
    bool send(std::string_view bytes, std::size_t most = ~std::size_t{0}) {
        while (!bytes.empty()) {
            const ssize_t count =
                ::send(fd_.get(), bytes.data(), std::min(most, bytes.size()), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
            if (count < 0 && errno != EAGAIN) {
                resetInSend_ = resetInSend_ || errno == ECONNRESET;
                return false;
            }
            if (count < 0 && !await(POLLIN | POLLOUT)) return false;
            if (end_ == stillAlive) takeInput();
        }
        return true;
    }
    // In pieces of random sizes, often of one byte.
    bool sendChopped(std::string_view bytes, Dice& dice) {
        while (!bytes.empty()) {
            const bool byteByByte = dice.oneIn(8);
            const std::size_t run = std::min<std::size_t>(bytes.size(), 1 + dice.size(byteByByte ? 128 : 32'000));
            if (!send(bytes.substr(0, run), byteByByte ? 1 : run)) return false;
            bytes.remove_prefix(run);
        }
        return true;
    }
    // Waits for more input; false when it has ended.
    bool receive() {
        while (end_ == stillAlive) {
            if (takeInput()) return true;
            if (end_ == stillAlive && !await(POLLIN)) return false;
        }
        return false;
    }
    void receiveToEnd() {
        while (receive()) {
        }
    }
    void endOutput() { ::shutdown(fd_.get(), SHUT_WR); }
    void reset() {
        const linger atOnce{1, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &atOnce, sizeof atOnce);
        fd_.close();
    }
    void close() { fd_.close(); }
    int fd() const noexcept { return fd_.get(); }

  private:
    bool await(short events) {
        if (end_ != stillAlive) events = static_cast<short>(events & ~POLLIN);
        pollfd one{fd_.get(), events, 0};
        const int ready = ::poll(&one, 1, timeout);
        if (ready == 0) wrong("a connection hangs: nothing to receive, and no room to send, for a minute");
        return ready > 0;
    }
    bool takeInput() {
        char room[16 * 1024];
        const ssize_t count = ::recv(fd_.get(), room, sizeof room, MSG_DONTWAIT);
        if (count > 0) input_.append(room, static_cast<std::size_t>(count));
        if (count == 0) end_ = resetInSend_ ? ECONNRESET : 0;
        if (count < 0 && errno != EAGAIN) end_ = errno;
        return count > 0;
    }

    Fd fd_;
    std::string input_;
    int end_ = stillAlive;
    bool resetInSend_ = false;  // the kernel reports a reset once, here to send(); then recv() returns 0
};

}  // namespace weft::test
