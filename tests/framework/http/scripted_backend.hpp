// ScriptedBackend: a plain blocking server on its own thread that answers each request with the next canned text.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>
#include <weft/scheduler/errors.hpp>

namespace weft::test {

struct ScriptedAnswer {
    std::string bytes;
    enum Then : unsigned char { keep, close, hang } then = keep;  // hang: until the client closes
};

class ScriptedBackend {
  public:
    explicit ScriptedBackend(std::vector<ScriptedAnswer> script)
        : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address_ = SocketAddress::loopbackV4(0);
        socklen_t size = address_.size();
        if (::bind(listener_, address_.data(), size) != 0 || ::listen(listener_, 16) != 0 ||
            ::getsockname(listener_, address_.data(), &size) != 0) {
            throw SystemError(fromErrno(errno), "ScriptedBackend");
        }
        thread_ = std::thread([this] { serve(); });
    }
    ~ScriptedBackend() {
        ::shutdown(listener_, SHUT_RDWR);  // ends the accept
        {
            std::lock_guard held(lock_);
            stopping_ = true;
            if (peer_ >= 0) ::shutdown(peer_, SHUT_RDWR);  // ends the reads: a pooled connection would stay open
        }
        thread_.join();
        ::close(listener_);
    }

    const SocketAddress& address() const { return address_; }
    int connections() const {
        std::lock_guard held(lock_);
        return connections_;
    }
    // The number of connections that it has closed; by then their clients have the end of the stream.
    int closed() const {
        std::lock_guard held(lock_);
        return closed_;
    }
    std::vector<std::string> requests() const {
        std::lock_guard held(lock_);
        return requests_;
    }

  private:
    void serve() {
        while (next_ < script_.size()) {
            const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (peer < 0) return;
            {
                std::lock_guard held(lock_);
                ++connections_;
                peer_ = peer;
                if (stopping_) ::shutdown(peer, SHUT_RDWR);
            }
            while (next_ < script_.size() && answerOne(peer)) {
            }
            if (next_ == script_.size() && script_.back().then == ScriptedAnswer::keep) waitForEnd(peer);
            std::lock_guard held(lock_);
            ::close(std::exchange(peer_, -1));
            ++closed_;
        }
    }

    // False when the connection is over.
    bool answerOne(int peer) {
        const ScriptedAnswer& answer = script_[next_];
        if (!readRequest(peer)) return false;
        ++next_;
        if (!answer.bytes.empty()) ::send(peer, answer.bytes.data(), answer.bytes.size(), MSG_NOSIGNAL);
        if (answer.then == ScriptedAnswer::hang) waitForEnd(peer);
        return answer.then == ScriptedAnswer::keep;
    }

    bool readRequest(int peer) {
        std::string request;
        char byte = 0;
        while (!request.ends_with("\r\n\r\n")) {
            if (::recv(peer, &byte, 1, 0) <= 0) return false;
            request += byte;
        }
        std::lock_guard held(lock_);
        requests_.push_back(request);
        return true;
    }

    static void waitForEnd(int peer) {
        char byte = 0;
        while (::recv(peer, &byte, 1, 0) > 0) {
        }
    }

    const std::vector<ScriptedAnswer> script_;
    const int listener_;
    SocketAddress address_;
    std::size_t next_ = 0;
    mutable std::mutex lock_;  // guards the members below
    bool stopping_ = false;
    int peer_ = -1;
    int connections_ = 0;
    int closed_ = 0;
    std::vector<std::string> requests_;
    std::thread thread_;
};

}  // namespace weft::test
