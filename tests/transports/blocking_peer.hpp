// BlockingPeer: a plain blocking client socket, to talk to a server under test from the test's own thread.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>

namespace weft::test {

class BlockingPeer {
  public:
    // Takes over a connected descriptor.
    explicit BlockingPeer(int connected) : fd_(connected) {
        const timeval timeout{20, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
    explicit BlockingPeer(const SocketAddress& address)
        : BlockingPeer(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        EXPECT_EQ(::connect(fd_, address.data(), address.size()), 0) << errno;
    }
    ~BlockingPeer() { close(); }
    BlockingPeer(const BlockingPeer&) = delete;
    BlockingPeer& operator=(const BlockingPeer&) = delete;

    void send(std::string_view bytes) {
        EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    void sendUrgent(char byte) { EXPECT_EQ(::send(fd_, &byte, 1, MSG_OOB | MSG_NOSIGNAL), 1); }
    // The next bytes; "" at the end of the stream.
    std::string receive(std::size_t most = 64 * 1024) {
        std::string bytes(most, '\0');
        const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
        EXPECT_GE(count, 0) << "recv: errno " << errno;
        bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return bytes;
    }
    std::string receiveExactly(std::size_t size) {
        std::string all;
        while (all.size() < size) {
            const std::string more = receive(size - all.size());
            if (more.empty()) break;
            all += more;
        }
        return all;
    }
    // True if bytes, or the end of the stream, have arrived.
    bool hasInput() {
        char byte;
        return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
    }
    // Appends everything up to the end of the stream to `bytes`; returns 0 after an orderly end, else the errno.
    int receiveToEnd(std::string& bytes) {
        char room[4096];
        for (;;) {
            const ssize_t count = ::recv(fd_, room, sizeof room, 0);
            if (count <= 0) return count == 0 ? 0 : errno;
            bytes.append(room, static_cast<std::size_t>(count));
        }
    }
    // Returns how many bytes were taken before the peer took no more for a while, or `most`.
    std::size_t sendUntilFull(std::string_view bytes, std::size_t most) {
        std::size_t sent = 0;
        for (pollfd ready{fd_, POLLOUT, 0}; sent < most && ::poll(&ready, 1, 200) == 1;) {
            const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count <= 0) break;
            sent += static_cast<std::size_t>(count);
        }
        return sent;
    }
    void endOutput() { ::shutdown(fd_, SHUT_WR); }
    void reset() {
        const linger atOnce{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &atOnce, sizeof atOnce);
        close();
    }
    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

  private:
    int fd_;
};

}  // namespace weft::test
