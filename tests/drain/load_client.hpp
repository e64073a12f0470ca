// LoadClient: sends requests one by one, pipelined or one per connection, until its server has gone; checks the answer
// to each.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <weft/pipeline/socket_address.hpp>

namespace weft::test {

// Shared by all clients of a round.
struct Round {
    SocketAddress server;
    std::atomic<std::size_t> answers{0};
    std::atomic<bool> signalled{false};  // set right before the signal is sent
};

struct LoadShape {
    const char* name;
    std::size_t pipelined;          // requests per send
    std::size_t perConnection;      // 0: as many as the server accepts
    bool silentAfterFirst = false;  // then waits for the server's end
};

// Runs on a thread of its own; reports failures in `wrong`.
class LoadClient {
  public:
    LoadClient(Round& round, const LoadShape& shape) : round_(round), shape_(shape) {}

    void run() {
        while (connect()) {
            const bool late = round_.signalled;  // the server may refuse it, and reset it
            talk(late);
            ::close(fd_);
            if (wentAway_) return;
        }
    }
    std::vector<std::string> wrong;
    std::size_t answered = 0;

  private:
    bool connect() {
        fd_ = ::socket(round_.server.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval timeout{30, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        buffered_.clear();
        closing_ = false;
        if (::connect(fd_, round_.server.data(), round_.server.size()) == 0) return true;
        if (!round_.signalled) complain("connect: " + std::string(std::strerror(errno)));
        ::close(fd_);
        return false;
    }
    void talk(bool late) {
        for (std::size_t sent = 0; shape_.perConnection == 0 || sent < shape_.perConnection; sent += shape_.pipelined) {
            if (!exchange(late)) return;
            if (!shape_.silentAfterFirst) continue;
            awaitEnd();
            return;
        }
    }
    // One batch; false when the connection has ended.
    bool exchange(bool late) {
        std::string requests;
        for (std::size_t i = 0; i < shape_.pipelined; ++i) requests += request(number_ + i);
        const ssize_t sent = ::send(fd_, requests.data(), requests.size(), MSG_NOSIGNAL);
        const bool mustAnswer = !round_.signalled;  // the server's kernel had it before the signal
        if (sent != static_cast<ssize_t>(requests.size())) {
            if (!late) complain("send: " + std::string(std::strerror(errno)));
            return end();
        }
        for (std::size_t i = 0; i < shape_.pipelined; ++i, ++number_) {
            if (readAnswer(late)) continue;
            if (mustAnswer)
                complain("request " + std::to_string(i) + " of a batch was sent before the signal, and not answered");
            return end();
        }
        if (closing_) awaitEnd();
        return !closing_;
    }
    static std::string request(std::size_t number) {
        static constexpr const char* targets[] = {"/plaintext", "/fiber", "/sleep?ms=1"};
        return std::string("GET ") + targets[number % 3] + " HTTP/1.1\r\nHost: x\r\n\r\n";
    }
    bool readAnswer(bool late) {
        if (closing_) return false;  // the previous answer announced that it is the last
        std::size_t head = 0;
        while ((head = buffered_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive(late)) return whole();
        }
        const std::size_t length = contentLength(head);
        while (buffered_.size() < head + 4 + length) {
            if (!receive(late)) return whole();
        }
        check(std::string_view(buffered_).substr(0, head), std::string_view(buffered_).substr(head + 4, length));
        buffered_.erase(0, head + 4 + length);
        ++answered;
        round_.answers.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    std::size_t contentLength(std::size_t head) const {
        constexpr std::string_view name = "\r\nContent-Length: ";
        const std::size_t at = buffered_.find(name);
        return at < head ? std::strtoul(buffered_.c_str() + at + name.size(), nullptr, 10) : 0;
    }
    void check(std::string_view head, std::string_view body) {
        static constexpr std::string_view bodies[] = {"Hello, World!", "Hello, World!", "slept 1 ms\n"};
        if (!head.starts_with("HTTP/1.1 200 "))
            complain("answered with " + std::string(head.substr(0, head.find('\r'))));
        if (body != bodies[number_ % 3]) complain("the body is '" + std::string(body) + "'");
        closing_ = head.find("\r\nConnection: close") != std::string_view::npos;
    }
    // At the end of a connection there must be no partial answer.
    bool whole() {
        if (!buffered_.empty()) complain("an answer ends after " + std::to_string(buffered_.size()) + " bytes");
        return false;
    }
    bool receive(bool late) {
        char bytes[16 * 1024];
        const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
        if (count < 0 && !late) complain("recv: " + std::string(std::strerror(errno)));
        if (count > 0) buffered_.append(bytes, static_cast<std::size_t>(count));
        return count > 0;
    }
    void awaitEnd() {
        while (receive(false)) complain("bytes that nobody asked for");
        end();
    }
    // The server ends connections only after the signal.
    bool end() {
        if (!round_.signalled && !closing_) complain("the connection ended before the signal");
        wentAway_ = shape_.perConnection == 0;
        return false;
    }
    void complain(const std::string& what) { wrong.push_back(std::string(shape_.name) + ": " + what); }

    Round& round_;
    const LoadShape& shape_;
    int fd_ = -1;
    std::string buffered_;
    std::size_t number_ = 0;  // of requests; decides the target
    bool closing_ = false;
    bool wentAway_ = false;
};

}  // namespace weft::test
