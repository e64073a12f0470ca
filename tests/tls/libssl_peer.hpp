// LibsslPeer: the other side of a connection, which can do what an SslEngine never does.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tls/engine_pair.hpp"

namespace weft::test {

class LibsslPeer {
  public:
    enum class Side { client, server };

    // A client verifies nothing; a server uses testIdentity().
    explicit LibsslPeer(
        Side side, const std::function<void(::SSL_CTX*)>& configure = [](::SSL_CTX*) {})
        : context_(::SSL_CTX_new(side == Side::client ? ::TLS_client_method() : ::TLS_server_method())),
          in_(::BIO_new(::BIO_s_mem())),
          out_(::BIO_new(::BIO_s_mem())) {
        if (side == Side::server) useIdentity();
        configure(context_);
        ssl_ = ::SSL_new(context_);
        ::SSL_set_bio(ssl_, in_, out_);
        side == Side::client ? ::SSL_set_connect_state(ssl_) : ::SSL_set_accept_state(ssl_);
    }
    // Marked as ended, so that its session may be resumed.
    ~LibsslPeer() {
        ::SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        ::SSL_free(ssl_);
        ::SSL_CTX_free(context_);
        ::ERR_clear_error();
    }
    LibsslPeer(const LibsslPeer&) = delete;
    LibsslPeer& operator=(const LibsslPeer&) = delete;

    ::SSL* ssl() const { return ssl_; }
    std::string takeWire() {
        char* bytes = nullptr;
        const long size = BIO_get_mem_data(out_, &bytes);
        std::string all(bytes, static_cast<std::size_t>(size));
        static_cast<void>(BIO_reset(out_));
        return all;
    }
    void receive(std::string_view bytes) {
        if (!bytes.empty()) ::BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
        char plain[4096];
        for (int size = 1; size > 0;) {
            ::ERR_clear_error();
            size = ::SSL_read(ssl_, plain, sizeof(plain));
            if (size > 0) received.append(plain, static_cast<std::size_t>(size));
            if (size <= 0) error = ::SSL_get_error(ssl_, size);
        }
        ::ERR_clear_error();
    }
    void write(std::string_view plain) {
        ::ERR_clear_error();
        ::SSL_write(ssl_, plain.data(), static_cast<int>(plain.size()));
    }
    void updateKeys(bool asksForAnswer) {
        ::SSL_key_update(ssl_, asksForAnswer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
        ::SSL_do_handshake(ssl_);
    }
    // Delivers in both directions until both are silent.
    void talkTo(EngineSide& other) {
        receive({});
        for (;;) {
            const std::string sent = takeWire();
            if (!sent.empty()) other.receive(sent);
            const std::string answer = other.takeWire();
            if (!answer.empty()) receive(answer);
            if (sent.empty() && answer.empty()) return;
        }
    }

    std::string received;
    int error = SSL_ERROR_NONE;  // of the last SSL_read()

  private:
    void useIdentity() {
        const auto reading = [](const std::string& text) {
            return ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
        };
        ::BIO* const certificate = reading(testIdentity().certificate);
        ::BIO* const key = reading(testIdentity().key);
        ::X509* const own = ::PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
        ::EVP_PKEY* const secret = ::PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
        ::SSL_CTX_use_certificate(context_, own);
        ::SSL_CTX_use_PrivateKey(context_, secret);
        ::X509_free(own);
        ::EVP_PKEY_free(secret);
        ::BIO_free(certificate);
        ::BIO_free(key);
    }

    ::SSL_CTX* context_;
    ::BIO* in_;
    ::BIO* out_;
    ::SSL* ssl_ = nullptr;
};

}  // namespace weft::test
