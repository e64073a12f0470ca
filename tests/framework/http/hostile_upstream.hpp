// HostileUpstream: a blocking server that answers the first request on its first connection and then sends unsolicited
// bytes; on later connections it answers each request with its target.
#pragma once

#include <array>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>

#include "framework/http/delivery.hpp"

namespace weft::test {

class HostileUpstream {
  public:
    enum class End : unsigned char { stay, finish, reset };

    struct Attack {
        std::string answer;   // sent at once
        std::string unasked;  // sent when strike() is called
        End end = End::stay;  // ... and what follows it
    };

    explicit HostileUpstream(Attack attack)
        : attack_(std::move(attack)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        socklen_t size = address_.size();
        EXPECT_EQ(::bind(listener_, address_.data(), size), 0);
        EXPECT_EQ(::listen(listener_, 16), 0);
        EXPECT_EQ(::getsockname(listener_, address_.data(), &size), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~HostileUpstream() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        for (const int peer : peers_) ::close(peer);
        ::close(listener_);
    }
    HostileUpstream(const HostileUpstream&) = delete;
    HostileUpstream& operator=(const HostileUpstream&) = delete;

    const SocketAddress& address() const { return address_; }
    // Sends the unsolicited bytes on the first connection. Returns once they, and the end, are in the client's kernel:
    // blocks the calling thread, and with it all its fibers.
    void strike() {
        struck_.set_value();
        delivered_.get_future().wait();
    }
    std::size_t connections() const {
        std::lock_guard held(lock_);
        return connections_;
    }

  private:
    // One thread serves all connections, so that closing the listener suffices to end it.
    void serve() {
        std::vector<pollfd> watched{{listener_, POLLIN, 0}};
        for (;;) {
            ::poll(watched.data(), watched.size(), -1);
            if (watched[0].revents != 0 && !accept(watched)) return;
            for (std::size_t i = 1; i < watched.size(); ++i) {
                if (watched[i].revents != 0 && !answer(watched[i].fd, i == 1)) watched[i].fd = -1;
            }
        }
    }

    bool accept(std::vector<pollfd>& watched) {
        const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (peer < 0) return false;
        watched.push_back({peer, POLLIN, 0});
        peers_.push_back(peer);
        std::lock_guard held(lock_);
        ++connections_;
        return true;
    }

    bool answer(int peer, bool first) {
        std::string request;
        char byte = 0;
        while (!request.ends_with("\r\n\r\n")) {
            if (::recv(peer, &byte, 1, 0) <= 0) return false;
            request += byte;
        }
        if (first && !attacked_) {
            attacked_ = true;
            return attack(peer);
        }
        const std::size_t from = request.find(' ') + 1;
        const std::string target = request.substr(from, request.find(' ', from) - from);
        send(peer, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(target.size()) + "\r\n\r\n" + target);
        return true;
    }

    bool attack(int peer) {
        send(peer, attack_.answer);
        struck_.get_future().wait();
        send(peer, attack_.unasked);
        if (attack_.end == End::finish) ::shutdown(peer, SHUT_WR);
        if (attack_.end == End::reset) resetAndKeep(peer);
        delivered_.set_value();
        return attack_.end != End::reset;
    }

    static void send(int peer, std::string_view bytes) { EXPECT_TRUE(sendUntilTaken(peer, bytes)); }

    const Attack attack_;
    const int listener_;
    SocketAddress address_ = SocketAddress::loopbackV4(0);
    bool attacked_ = false;
    std::promise<void> struck_;
    std::promise<void> delivered_;
    std::vector<int> peers_;
    mutable std::mutex lock_;  // guards connections_
    std::size_t connections_ = 0;
    std::thread thread_;
};

}  // namespace weft::test
