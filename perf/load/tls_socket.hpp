// TlsSocket: a socket of the load generator, plain or over TLS. It verifies no certificate.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "../support/endpoint.hpp"

namespace weft::perf {

class TlsSocket {
  public:
    // Connects, and with `tls` shakes hands; non-blocking from then on.
    TlsSocket(const sockaddr_in& server, bool tls) : fd_(tls ? connectBlocking(server) : connectTo(server)) {
        if (!tls) return;
        ssl_ = SSL_new(context());
        SSL_set_fd(ssl_, fd_);
        if (SSL_connect(ssl_) != 1) die("a TLS handshake failed");
        const int on = 1;
        if (ioctl(fd_, FIONBIO, &on) < 0) die("ioctl FIONBIO", errno);
    }
    TlsSocket(const TlsSocket&) = delete;
    ~TlsSocket() { close(); }

    int fd() const { return fd_; }
    // As recv(); over TLS at most one record.
    ssize_t receive(char* into, std::size_t most) {
        if (ssl_ == nullptr) return ::recv(fd_, into, most, 0);
        ERR_clear_error();
        return result(SSL_read(ssl_, into, static_cast<int>(most)));
    }
    ssize_t send(std::string_view bytes) {
        if (ssl_ == nullptr) return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        ERR_clear_error();
        return result(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())));
    }
    void close() {
        SSL_free(ssl_);
        ssl_ = nullptr;
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }

  private:
    static SSL_CTX* context() {
        static SSL_CTX* const context = [] {
            SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
            SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
            return made;
        }();
        return context;
    }
    ssize_t result(int size) {
        if (size > 0) return size;
        const int why = SSL_get_error(ssl_, size);
        if (why == SSL_ERROR_ZERO_RETURN) return 0;
        errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
        return -1;
    }

    int fd_;
    SSL* ssl_ = nullptr;
};

}  // namespace weft::perf
