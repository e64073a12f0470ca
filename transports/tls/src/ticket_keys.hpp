// TicketKeys: the keys with which servers encrypt the sessions that their clients keep (RFC 5077, section 4).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

namespace weft::detail {

// Context: any thread.
class TicketKeys {
  public:
    static constexpr std::size_t bytesOfKey = 80;  // its name, its secret for the HMAC, and that for AES-256
    static constexpr std::size_t mostKeys = 16;

    // Random keys. A new one takes over every hour; the two before it are still accepted, so each for two hours, as
    // long as a session lives. Shared by the process.
    static std::shared_ptr<TicketKeys> ofProcess();
    // `option` names the file in errors. Throws ConfigurationError.
    static std::shared_ptr<TicketKeys> fromFile(const std::string& file, const std::string& option);

    // What SSL_CTX_set_tlsext_ticket_key_evp_cb() wants of its function, for the keys of one context.
    int seal(::SSL& ssl, unsigned char* name, unsigned char* iv, ::EVP_CIPHER_CTX* cipher, ::EVP_MAC_CTX* mac) noexcept;
    int open(::SSL& ssl, const unsigned char* name, const unsigned char* iv, ::EVP_CIPHER_CTX* cipher,
             ::EVP_MAC_CTX* mac) noexcept;

  private:
    struct Key {
        Key() = default;
        Key(const Key&) = default;
        Key& operator=(const Key&) = default;
        ~Key() { ::OPENSSL_cleanse(this, sizeof *this); }
        std::array<unsigned char, 16> name;
        std::array<unsigned char, 32> hmac;
        std::array<unsigned char, 32> aes;
    };
    static_assert(sizeof(Key) == bytesOfKey);
    using Clock = std::chrono::steady_clock;

    static bool makeRandom(Key& key) noexcept;
    static bool setMac(::EVP_MAC_CTX* mac, const Key& key) noexcept;
    bool current(Key& key) noexcept;

    std::mutex lock_;        // guards the members below
    std::vector<Key> keys_;  // the first one encrypts
    bool rotates_ = false;
    Clock::time_point since_{};  // when the first key took over
};

}  // namespace weft::detail
