// Holds idle keep-alive connections open: each makes one request, reads the answer and is silent from then on. With
// --tls over TLS; with --half-open each sends the first message of a handshake and is silent from then on.
// Reads from standard input, one number a line, how many connections to hold in all. Prints "holding N" once each of
// them has had its answer and the server has closed none. At the end of the input it exits, which closes all
// connections.

#include <poll.h>
#include <sys/resource.h>

#include <iostream>
#include <memory>
#include <vector>

#include "../support/endpoint.hpp"
#include "response_reader.hpp"
#include "tls_socket.hpp"

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
    Holder(const sockaddr_in& server, TlsUse use, const std::string& path) : server_(server), use_(use) {
        request_ = "GET " + path + " HTTP/1.1\r\nHost: " + toText(server) + "\r\n\r\n";
    }

    void hold(std::size_t count) {
        while (held_.size() < count) {
            held_.push_back(std::make_unique<TlsSocket>(server_, use_));
            ask(*held_.back());
        }
        for (const auto& socket : held_)
            if (!isSilent(*socket)) die("the server has closed an idle connection, or sent more than its answer");
    }

  private:
    bool isHalfOpen() const { return use_ == TlsUse::fullHandshakes; }

    bool isSilent(TlsSocket& socket) const {
        char byte;
        if (isHalfOpen()) return ::recv(socket.fd(), &byte, 1, MSG_PEEK) > 0 || errno == EAGAIN;
        return socket.receive(&byte, 1) < 0 && errno == EAGAIN;
    }

    void ask(TlsSocket& socket) {
        const ssize_t sent = socket.send(request_);  // of a half-open connection: what comes before it
        if (isHalfOpen()) return;
        if (sent < 0) die("send", errno);
        ResponseReader reader(expected_, known_);
        char buffer[4096];
        for (;;) {
            pollfd readable{socket.fd(), POLLIN, 0};
            const ssize_t got = socket.receive(buffer, sizeof buffer);
            if (got < 0 && errno == EAGAIN && (::poll(&readable, 1, -1) > 0 || errno == EINTR)) continue;
            if (got <= 0)
                die("connection " + std::to_string(held_.size()) + " ended without an answer", got < 0 ? errno : 0);
            const ResponseReader::Batch batch = reader.consume(buffer, static_cast<std::size_t>(got));
            if (batch.failure) die(batch.failure);
            if (batch.wrong) die("a response was not the expected one (status 200, Hello, World!)");
            if (batch.responses > 0) return;
        }
    }

    sockaddr_in server_;
    TlsUse use_;
    std::string request_;
    std::vector<std::unique_ptr<TlsSocket>> held_;
    const Expectation expected_{.checkBody = true};
    KnownResponse known_;
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(
        argc, argv,
        "--connect ADDR:PORT [--path /plaintext] [--tls | --half-open]        then a number a line on standard input");
    const sockaddr_in server = endpointFlag(flags, "--connect");
    const std::string path = flags.text("--path", "/plaintext");
    const TlsUse use = flags.present("--half-open") ? TlsUse::fullHandshakes
                       : flags.present("--tls")     ? TlsUse::keepAlive
                                                    : TlsUse::none;
    flags.finish();
    Holder holder(server, use, path);
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
