// Question: what do the kernel and libssl alone charge for a request and its answer over TLS on one thread?
// The loop of plaintext/floor_epoll with libssl between: a BIO that reads records from the received bytes and writes
// them into the output of the turn. One recv, one SSL_write of all answers and one send of up to 256 KiB for each read
// batch. With --set-fd libssl reads and writes the socket itself, a record at a time, as in most programs.

#include <sys/epoll.h>

#include <memory>
#include <unordered_map>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "../../support/endpoint.hpp"
#include "../../support/quit_signals.hpp"
#include "../../support/request_counter.hpp"
#include "../../support/tls_server.hpp"

namespace weft::perf {
namespace {

constexpr std::size_t readSize = 16 * 1024;
constexpr std::size_t mostOutput = 256 * 1024;  // before it is sent

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
    std::size_t owed = 0;  // bytes of answers that are not encrypted
    std::string output;    // records
    std::size_t sent = 0;  // of them, to the kernel
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

BIO* recordBio(Connection& connection) {
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
    return bio;
}

SSL_CTX* makeContext(const TlsFlags& flags) {
    const TlsIdentity identity = makeTlsIdentity(flags.rsa);
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
    Server(const sockaddr_in& address, const TlsFlags& flags, bool setFd)
        : context_(makeContext(flags)), setFd_(setFd), answers_(flags.bodyBytes) {
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
                else serve(*static_cast<Connection*>(who));
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

    // A connection that waits for the kernel to take answers reads nothing.
    void serve(Connection& connection) {
        if (connection.ssl == nullptr) open(connection);
        const bool waited = waits(connection);
        if ((!waited && !receive(connection)) || !answer(connection)) return close(connection);
        if (waits(connection) != waited) watch(EPOLL_CTL_MOD, connection.fd, waited ? EPOLLIN : EPOLLOUT, &connection);
    }

    static bool waits(const Connection& connection) { return !connection.output.empty() || connection.owed > 0; }

    void open(Connection& connection) {
        connection.ssl = SSL_new(context_);
        if (setFd_) {
            SSL_set_fd(connection.ssl, connection.fd);
        } else {
            BIO* const bio = recordBio(connection);
            SSL_set_bio(connection.ssl, bio, bio);
        }
        SSL_set_accept_state(connection.ssl);
    }

    // False: the connection has ended.
    bool receive(Connection& connection) {
        if (setFd_) return readRecords(connection);
        const ssize_t got = recv(connection.fd, buffer_, readSize, 0);
        if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
        connection.input = buffer_;
        connection.inputSize = static_cast<std::size_t>(got);
        while (connection.inputSize > 0 || SSL_pending(connection.ssl) > 0)
            if (!readRecords(connection)) return false;
        return true;
    }

    // Until libssl wants more input, or after one record where it does not read the socket.
    bool readRecords(Connection& connection) {
        for (;;) {
            clearErrors();
            const int size = SSL_read(connection.ssl, plain_, sizeof plain_);
            if (size <= 0) return SSL_get_error(connection.ssl, size) == SSL_ERROR_WANT_READ;
            connection.owed +=
                connection.requests.count(plain_, static_cast<std::size_t>(size)) * answers_.answer().size();
            if (!setFd_) return true;
        }
    }

    // Encrypts and sends what is owed, as far as the kernel takes it. False: the connection has ended.
    bool answer(Connection& connection) {
        do {
            while (connection.owed > 0 && connection.output.size() < mostOutput) {
                const std::string_view next = answers_.owed(connection.owed).substr(0, sizeof plain_);
                clearErrors();
                const int sent = SSL_write(connection.ssl, next.data(), static_cast<int>(next.size()));
                if (sent <= 0) return SSL_get_error(connection.ssl, sent) == SSL_ERROR_WANT_WRITE;
                connection.owed -= static_cast<std::size_t>(sent);
            }
            if (!sendOutput(connection)) return false;
        } while (connection.owed > 0 && connection.output.empty());
        return true;
    }

    static bool sendOutput(Connection& connection) {
        if (connection.output.empty()) return true;
        const ssize_t sent = send(connection.fd, connection.output.data() + connection.sent,
                                  connection.output.size() - connection.sent, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EINTR;
        connection.sent += static_cast<std::size_t>(sent);
        if (connection.sent < connection.output.size()) return true;
        connection.output.clear();
        connection.sent = 0;
        return true;
    }

    static void clearErrors() {
        if (ERR_peek_error() != 0) ERR_clear_error();
    }

    void close(Connection& connection) { connections_.erase(connection.fd); }

    void watch(int operation, int fd, std::uint32_t events, void* who) {
        epoll_event event{};
        event.events = events;
        event.data.ptr = who;
        if (epoll_ctl(epollFd_, operation, fd, &event) < 0) die("epoll_ctl", errno);
    }

    SSL_CTX* const context_;
    const bool setFd_;
    const TlsAnswers answers_;
    int quitFd_ = -1;
    int epollFd_ = -1;
    int listenFd_ = -1;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    char buffer_[readSize];
    char plain_[readSize];
};

}  // namespace
}  // namespace weft::perf

int main(int argc, char** argv) {
    using namespace weft::perf;
    Flags flags(argc, argv, std::string("--listen ADDR:PORT [--set-fd] ") + TlsFlags::usage);
    const sockaddr_in address = endpointFlag(flags, "--listen");
    const bool setFd = flags.present("--set-fd");
    const TlsFlags wanted(flags);
    flags.finish();
    Server(address, wanted, setFd).run();
    return 0;
}
