// Question: what do the kernel and libssl alone charge for a request and its answer over TLS on one thread?
// The loop of plaintext/floor_epoll with libssl between: a BIO that reads records from the received bytes and writes
// them into the output of the turn. One recv, one SSL_write of all answers and one send for each read batch.

#include <sys/epoll.h>

#include <memory>
#include <unordered_map>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "../../support/canned_response.hpp"
#include "../../support/endpoint.hpp"
#include "../../support/quit_signals.hpp"
#include "../../support/request_counter.hpp"
#include "../../support/tls_identity.hpp"

namespace weft::perf {
namespace {

constexpr std::size_t readSize = 16 * 1024;

struct Connection {
    ~Connection() {
        SSL_free(ssl);
        ::close(fd);
    }
    int fd = -1;
    SSL* ssl = nullptr;
    RequestCounter requests;
    const char* input = nullptr;  // received, and not read by libssl
    std::size_t inputSize = 0;
    std::string output;  // records that the kernel has not accepted
};

// ---- the BIO ----

Connection& of(BIO* bio) {
    return *static_cast<Connection*>(BIO_get_data(bio));
}

int readInput(BIO* bio, char* into, int most) {
    Connection& self = of(bio);
    BIO_clear_retry_flags(bio);
    if (self.inputSize == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    const std::size_t size = std::min(self.inputSize, static_cast<std::size_t>(most));
    std::memcpy(into, self.input, size);
    self.input += size;
    self.inputSize -= size;
    return static_cast<int>(size);
}

int writeOutput(BIO* bio, const char* from, int size) {
    of(bio).output.append(from, static_cast<std::size_t>(size));
    return size;
}

long control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

SSL* makeSsl(SSL_CTX* context, Connection& connection) {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* const made = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "floor");
        BIO_meth_set_read(made, &readInput);
        BIO_meth_set_write(made, &writeOutput);
        BIO_meth_set_ctrl(made, &control);
        return made;
    }();
    BIO* const bio = BIO_new(method);
    BIO_set_data(bio, &connection);
    BIO_set_init(bio, 1);
    SSL* const ssl = SSL_new(context);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    return ssl;
}

SSL_CTX* makeContext() {
    const TlsIdentity identity = makeTlsIdentity();
    SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
    const auto reading = [](const std::string& text) {
        return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
    };
    SSL_CTX_use_certificate(context, PEM_read_bio_X509(reading(identity.certificate), nullptr, nullptr, nullptr));
    SSL_CTX_use_PrivateKey(context, PEM_read_bio_PrivateKey(reading(identity.key), nullptr, nullptr, nullptr));
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set1_groups_list(context, "X25519:prime256v1:secp384r1");
    if (SSL_CTX_check_private_key(context) != 1) die("the floor's certificate is not accepted");
    return context;
}

// ---- the loop ----

class Server {
  public:
    explicit Server(const sockaddr_in& address) : context_(makeContext()) {
        quitFd_ = quitSignals();
        epollFd_ = epoll_create1(EPOLL_CLOEXEC);
        listenFd_ = listenAndAnnounce(address);
        watch(EPOLL_CTL_ADD, quitFd_, EPOLLIN, &quitFd_);
        watch(EPOLL_CTL_ADD, listenFd_, EPOLLIN, &listenFd_);
    }

    void run() {
        epoll_event events[256];
        for (;;) {
            const int count = epoll_wait(epollFd_, events, std::size(events), -1);
            if (count < 0 && errno != EINTR) die("epoll_wait", errno);
            for (int i = 0; i < count; ++i) {
                void* const who = events[i].data.ptr;
                if (who == &quitFd_) return;
                if (who == &listenFd_) acceptAll();
                else serve(*static_cast<Connection*>(who), events[i].events);
            }
        }
    }

  private:
    void acceptAll() {
        int fd;
        while ((fd = accept4(listenFd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
            setNoDelay(fd);
            auto connection = std::make_unique<Connection>();
            connection->fd = fd;
            watch(EPOLL_CTL_ADD, fd, EPOLLIN, connection.get());
            connections_[fd] = std::move(connection);
        }
    }

    void serve(Connection& connection, std::uint32_t events) {
        if (events & EPOLLOUT) {
            if (!sendOutput(connection) || !connection.output.empty()) return;
            return watch(EPOLL_CTL_MOD, connection.fd, EPOLLIN, &connection);
        }
        const ssize_t got = recv(connection.fd, buffer_, readSize, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return close(connection);
        connection.input = buffer_;
        connection.inputSize = static_cast<std::size_t>(got);
        if (!receive(connection)) return close(connection);
        if (!connection.output.empty() && sendOutput(connection) && !connection.output.empty())
            watch(EPOLL_CTL_MOD, connection.fd, EPOLLOUT, &connection);
    }

    // False: the connection has ended.
    bool receive(Connection& connection) {
        if (connection.ssl == nullptr) connection.ssl = makeSsl(context_, connection);
        std::size_t answers = 0;
        while (connection.inputSize > 0 || SSL_pending(connection.ssl) > 0) {
            if (ERR_peek_error() != 0) ERR_clear_error();
            const int size = SSL_read(connection.ssl, plain_, sizeof plain_);
            if (size > 0) answers += connection.requests.count(plain_, static_cast<std::size_t>(size));
            else if (SSL_get_error(connection.ssl, size) != SSL_ERROR_WANT_READ) return false;
        }
        block_.begin(answers);
        for (std::size_t owed = answers * block_.response.size(); owed > 0;) {
            const std::string_view next = block_.owed(owed).substr(0, sizeof plain_);
            const int sent = SSL_write(connection.ssl, next.data(), static_cast<int>(next.size()));
            if (sent <= 0) return false;
            owed -= static_cast<std::size_t>(sent);
        }
        return true;
    }

    // False: it has been closed.
    bool sendOutput(Connection& connection) {
        const ssize_t sent = send(connection.fd, connection.output.data(), connection.output.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return close(connection), false;
        if (sent > 0) connection.output.erase(0, static_cast<std::size_t>(sent));
        return true;
    }

    void close(Connection& connection) { connections_.erase(connection.fd); }

    void watch(int operation, int fd, std::uint32_t events, void* who) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = who;
        if (epoll_ctl(epollFd_, operation, fd, &event) < 0) die("epoll_ctl", errno);
    }

    SSL_CTX* const context_;
    int quitFd_ = -1;
    int epollFd_ = -1;
    int listenFd_ = -1;
    CannedBlock<false> block_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    char buffer_[readSize];
    char plain_[readSize];
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    weft::perf::Flags flags(argc, argv, "--listen ADDR:PORT");
    const sockaddr_in address = weft::perf::endpointFlag(flags, "--listen");
    flags.finish();
    weft::perf::Server(address).run();
    return 0;
}
