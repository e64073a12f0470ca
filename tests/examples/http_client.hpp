// HttpClient: a small blocking HTTP client on a plain socket, independent of the code under test.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "transports/blocking_peer.hpp"

namespace weft::test {

struct HttpAnswer {
    int status = 0;
    std::string head;
    std::string body;

    // The value of a header with exactly this spelling; "" when there is none.
    std::string header(const std::string& name) const {
        const std::size_t at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return "";
        const std::size_t from = at + name.size() + 4;
        return head.substr(from, head.find("\r\n", from) - from);
    }
};

class HttpClient {
  public:
    explicit HttpClient(const SocketAddress& server) : peer_(server) {}

    void send(std::string_view bytes) { peer_.send(bytes); }
    // The next answer with a Content-Length; status 0 when the connection has ended.
    HttpAnswer receive(bool headOnly = false) {
        HttpAnswer answer;
        std::size_t end = 0;
        while ((end = buffered_.find("\r\n\r\n")) == std::string::npos) {
            if (!more()) return answer;
        }
        answer.head = buffered_.substr(0, end + 2);
        buffered_.erase(0, end + 4);
        answer.status = std::atoi(answer.head.c_str() + std::strlen("HTTP/1.1 "));
        const std::size_t length = headOnly ? 0 : std::strtoul(answer.header("Content-Length").c_str(), nullptr, 10);
        while (buffered_.size() < length && more()) {
        }
        answer.body = buffered_.substr(0, length);
        buffered_.erase(0, length);
        return answer;
    }
    HttpAnswer request(std::string_view method, std::string_view target, std::string_view headers = {},
                       std::string_view body = {}) {
        send(std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(headers) +
             "\r\n" + std::string(body));
        return receive(method == "HEAD");
    }
    HttpAnswer get(std::string_view target) { return request("GET", target); }
    // The next `size` bytes; fewer when the connection has ended.
    std::string bytes(std::size_t size) {
        while (buffered_.size() < size && more()) {
        }
        const std::string taken = buffered_.substr(0, size);
        buffered_.erase(0, taken.size());
        return taken;
    }
    // All bytes up to the end of the connection.
    std::string rest() {
        while (more()) {
        }
        return std::exchange(buffered_, {});
    }
    bool ended() { return buffered_.empty() && !more(); }

  private:
    bool more() {
        const std::string bytes = peer_.receive();
        buffered_ += bytes;
        return !bytes.empty();
    }
    BlockingPeer peer_;
    std::string buffered_;
};

}  // namespace weft::test
