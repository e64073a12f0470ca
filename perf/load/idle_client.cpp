// Holds idle keep-alive connections open: each makes one request, reads the answer and is silent from then on.
// Reads from standard input, one number a line, how many connections to hold in all. Prints "holding N" once each of
// them has had its answer and the server has closed none. At the end of the input it exits, which closes all
// connections.

#include <sys/resource.h>

#include <iostream>
#include <vector>

#include "../support/endpoint.hpp"
#include "response_reader.hpp"

namespace weft::perf {
namespace {

constexpr long otherDescriptors = 16;  // standard streams, and some room

void allowDescriptors(long count) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) die("getrlimit", errno);
    const auto wanted = static_cast<rlim_t>(count + otherDescriptors);
    if (wanted > limit.rlim_max)
        die(std::to_string(count) + " connections need " + std::to_string(wanted) +
            " descriptors, but this process may have " + std::to_string(limit.rlim_max) +
            ": ask for fewer, or raise the limit (ulimit -Hn)");
    limit.rlim_cur = std::max(limit.rlim_cur, wanted);
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0) die("setrlimit", errno);
}

class Holder {
  public:
    Holder(const sockaddr_in& server, const std::string& path) : server_(server) {
        request_ = "GET " + path + " HTTP/1.1\r\nHost: " + toText(server) + "\r\n\r\n";
    }

    void hold(std::size_t count) {
        while (held_.size() < count) held_.push_back(connectAndAsk());
        char byte;
        for (const int fd : held_)
            if (::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
                die("the server has closed an idle connection, or sent more than its answer");
    }

  private:
    int connectAndAsk() {
        const int fd = connectBlocking(server_);
        if (::send(fd, request_.data(), request_.size(), MSG_NOSIGNAL) < 0) die("send", errno);
        ResponseReader reader(expected_, known_);
        char buffer[4096];
        for (;;) {
            const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0)
                die("connection " + std::to_string(held_.size() + 1) + " ended without an answer", got < 0 ? errno : 0);
            const ResponseReader::Batch batch = reader.consume(buffer, static_cast<std::size_t>(got));
            if (batch.failure) die(batch.failure);
            if (batch.wrong) die("a response was not the expected one (status 200, Hello, World!)");
            if (batch.responses > 0) return fd;
        }
    }

    sockaddr_in server_;
    std::string request_;
    std::vector<int> held_;
    const Expectation expected_{.checkBody = true};
    KnownResponse known_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, "--connect ADDR:PORT [--path /plaintext]        then a number a line on standard input");
    const sockaddr_in server = endpointFlag(flags, "--connect");
    const std::string path = flags.text("--path", "/plaintext");
    flags.finish();
    Holder holder(server, path);
    for (std::string line; std::getline(std::cin, line);) {
        long count = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), count);
        if (error != std::errc{} || end != line.data() + line.size() || count < 1)
            die("\"" + line + "\" is no number of connections: expected 1 or more");
        allowDescriptors(count);
        holder.hold(static_cast<std::size_t>(count));
        std::printf("holding %ld\n", count);
        std::fflush(stdout);
    }
    return 0;
}
